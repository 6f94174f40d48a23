import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { scopes } from '../../../src/service/rest/auth/principal.ts';
import { idsIn } from '../../../src/service/rest/request-fields.ts';
import type { Route } from '../../../src/service/rest/route.ts';
import { routeTable } from '../../../src/service/rest/route-table.ts';
import {
  CommandRig,
  placeEquity,
  placePrediction,
  unknown,
  word,
  workingOrder,
} from '../../support/commands/command-rig.ts';
import { equityView } from '../../support/orders/arbitrary-orders.ts';
import { MemoryDeadLetters, sampleJob, sampleRow } from '../../support/orders/memory-dead-letters.ts';
import { MemoryReads } from '../../support/orders/memory-reads.ts';
import { ask, sha256, startRest } from '../../support/rest/rest-rig.ts';
import { sampleRequest } from '../../support/rest/route-samples.ts';

const token = 'static-token-of-one-account';
const [own, other] = ['ACC-1', 'ACC-2'];
const missing = '5d4a3f2b-1c7a-4a0d-955a-4a5e3f1e6c0b';
const orders = { [own]: '7e1d2c3b-4a59-4868-9776-8594a3b2c1d0', [other]: '0b8f6c1e-3f5e-4a55-9d0a-7c1b2f3a4d5e' };
/** Dead letters, and jobs over it. */
const rowIds = { [own]: '771001', [other]: '772002' };
const jobIds = { [own]: '11aa22bb-33cc-4dd5-8ee6-77ff88990011', [other]: '22bb33cc-44dd-4ee6-8ff7-889900aabb22' };
const streams = ['account', 'prediction'] as const;

/**
 * Names of accounts, of processes and their shards, and the caller's own reference: no id of a
 * thing that another account may have.
 */
const ofNoThing: readonly string[] = [
  'accountId',
  'accountIds',
  'tradingAccountId',
  'clientId',
  'stream',
  'instance',
  'shard',
];
/** With these a route looks at the thing in another way. */
const headerSamples: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'If-Match': { 'if-match': '"1"' },
  'If-None-Match': { 'if-none-match': '"1"' },
  Prefer: { prefer: 'wait=1' },
};

/** Names of the ids that a route takes, in its path, its query or its body. */
function idsTaken({ path, query, body }: Route): readonly string[] {
  const schemas = [query, body].map((schema) => (schema === undefined ? {} : z.toJSONSchema(schema, { io: 'input' })));
  const inside = [...JSON.stringify(schemas).matchAll(/"(\w+Ids?|supersedes)":/g)].map(([, name = '']) => name);
  return [...new Set([...idsIn(path), ...inside])].filter((name) => !ofNoThing.includes(name));
}

/** Calls of the commands as REST makes them; the virtual clock goes on while one is under way. */
function inVirtualTime<T extends object>(rig: CommandRig, part: T): T {
  return new Proxy(part, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value === 'object' && value !== null) return inVirtualTime(rig, value);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        const result: unknown = Reflect.apply(value, target, args);
        return result instanceof Promise ? rig.during(result) : result;
      };
    },
  });
}

type Things = Readonly<Record<'orderId' | 'commandId' | 'supersedes' | 'approvalId' | 'jobId' | 'rowId', string>>;

/**
 * Commands behind REST that know, of either account, an order, a place that is
 * presumed absent and an approval that waits.
 */
async function startBoth() {
  const rig = await CommandRig.leading({ fourEyes: true });
  const reads = new MemoryReads();
  const things = async (accountId: string) => {
    const equity = { ...equityView, origin: 'tidemark' as const };
    for (const order of [equity, { ...equity, stream: 'alpaca_paper' as const }, workingOrder]) {
      const known = { ...order, accountId, orderId: orders[accountId] ?? '' };
      rig.commit(known);
      const { stream, orderId } = known;
      reads.orders.push({
        stream,
        orderId,
        accountId,
        revision: 1,
        sourceVersion: undefined,
        state: JSON.stringify(known),
      });
    }
    const asked = await rig.during(rig.commands.operator.resume({ kind: 'account', accountId }, word));
    if (asked.kind !== 'requested') throw new Error('no approval waits');
    const placed: string[] = [];
    for (const place of [placeEquity, placePrediction]) {
      rig.entry.scripts.push({ result: unknown });
      placed.push((await rig.send({ ...place, accountId })).commandId);
    }
    return (stream: (typeof streams)[number]): Things => {
      const commandId = placed[streams.indexOf(stream)] ?? '';
      const { approvalId } = asked.approval;
      const [rowId, jobId] = [rowIds[accountId] ?? '', jobIds[accountId] ?? ''];
      return { orderId: orders[accountId] ?? '', commandId, supersedes: commandId, approvalId, jobId, rowId };
    };
  };
  const known = { own: await things(own), foreign: await things(other) };
  await rig.clock.advance(13 * 60_000);
  const commands = [...rig.journal.commands.values()];
  expect(commands.map(({ presumedAbsent }) => presumedAbsent)).toEqual([true, true, true, true]);
  reads.commands = commands.map((command) => ({ command, evidence: [] }));
  const auth = { tokens: [{ name: 'desk', sha256: sha256(token), scopes, accounts: [own] }] };
  const deadLetters = new MemoryDeadLetters();
  deadLetters.rows = Object.entries(rowIds).map(([accountId, id]) => sampleRow({ id, accountId }));
  deadLetters.jobs = Object.entries(jobIds).map(([accountId, id]) => ({
    ...sampleJob(),
    jobId: id,
    filter: { accountId },
  }));
  const ports = { reads, commandReads: reads, deadLetters, commands: inVirtualTime(rig, rig.commands) };
  return { rig, known, rest: await startRest({ auth, ports }) };
}

type Both = Awaited<ReturnType<typeof startBoth>>;

interface Naming {
  readonly things: Things;
  readonly stream: string;
  readonly accountId: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly key: string;
}

/** All of the answer that may say something, without the id that was asked for. */
async function answerTo(route: Route, { rig, rest }: Both, { things, stream, accountId, headers, key }: Naming) {
  const withKey = { ...headers, ...(route.headers?.includes('Idempotency-Key') && { 'idempotency-key': key }) };
  const { path, init } = sampleRequest(route, { token, ids: { ...things, stream, accountId }, headers: withKey });
  const { body: sample } = init;
  const taken = idsTaken(route);
  for (const name of taken)
    if (!(name in things) && name !== 'rowIds') throw new Error(`there is no sample of ${name}`);
  const inBody = taken.filter((name) => name in things && !idsIn(route.path).some((id) => id === name));
  const named = Object.fromEntries(inBody.map((name) => [name, things[name as keyof Things]]));
  // Rows by their ids alone: with an account beside them the account alone would decide.
  const chosen = taken.includes('rowIds') && { filter: { rowIds: [things.rowId] } };
  const body = typeof sample === 'string' && { body: JSON.stringify({ ...JSON.parse(sample), ...named, ...chosen }) };
  // Time enough for every budget to be full again.
  await rig.clock.advance(60_000);
  const beganMs = rig.clock.monotonicMs();
  const answer = await ask(`${rest.address}${path}`, { ...init, ...body });
  const { requestId: _requestId, at: _at, ...told } = answer.body;
  const text = Object.values(things).reduce((all, id) => all.replaceAll(id, 'ID'), JSON.stringify(told));
  const said = [...answer.headers].filter(([name]) => name !== 'date' && name !== 'x-request-id');
  return { status: answer.status, text, headers: said, tookMs: rig.clock.monotonicMs() - beganMs };
}

const nothing: Things = {
  orderId: missing,
  commandId: missing,
  supersedes: missing,
  approvalId: missing,
  jobId: missing,
  rowId: '779009',
};
const routes = routeTable.filter((route) => idsTaken(route).length > 0);

it('is about every kind of id', () => {
  const kinds = ['approvalId', 'commandId', 'jobId', 'orderId', 'rowId', 'rowIds', 'supersedes'];
  expect([...new Set(routes.flatMap(idsTaken))].sort()).toEqual(kinds);
});

// An order of another account was answered 404 and a random one 200: ids could be tried.
describe.each(routes.map((route) => [`${route.method} ${route.path}`, route] as const))('%s', (_name, route) => {
  it('answers for an id of another account as for one that does not exist', async () => {
    const both = await startBoth();
    const ways: readonly Naming['headers'][] = [{}, ...(route.headers ?? []).map((name) => headerSamples[name] ?? {})];
    const ofRoute = idsIn(route.path).includes('stream') ? streams : [streamOf(route)];
    let keys = 0;
    const naming = (things: Things, over: Pick<Naming, 'stream' | 'accountId' | 'headers'>) => {
      keys += 1;
      return answerTo(route, both, { things, ...over, key: `rest-${keys}` });
    };
    for (const stream of ofRoute)
      for (const accountId of [own, other])
        for (const headers of ways) {
          const over = { stream, accountId, headers };
          const foreign = await naming(both.known.foreign(stream), over);
          const absent = await naming(nothing, over);
          expect(foreign, JSON.stringify(over)).toEqual(absent);
          // A filter that names rows which are not there has none.
          if (idsTaken(route).includes('rowIds')) expect(foreign.text).toBe('{"total":0,"nameless":0}');
          // A preview answers what would refuse the place.
          else if (!foreign.text.includes('"refusals":[{')) expect(foreign.status).toBeGreaterThanOrEqual(400);
          // Or the answer would be the same for every id.
          if (accountId === own && headers === ways[0])
            expect((await naming(both.known.own(stream), over)).text).not.toBe(absent.text);
        }
    await both.rest.server.drain(new AbortController().signal);
  });
});

function streamOf({ path }: Route): (typeof streams)[number] {
  return path.includes('/predictions/') ? 'prediction' : 'account';
}
