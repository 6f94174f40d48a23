import { readLines } from '../src/demo/proof/prove-run.ts';
import { systemClock } from '../src/runtime/clock.ts';
import type { Cleanup } from './cleanup.ts';
import { type CommandingService, restingOrder, startCommandingService, tradedAccounts } from './commanding-service.ts';
import { percentile } from './percentile.ts';
import { type SandboxProcess, startSandboxProcess } from './sandbox-process.ts';
import { onServer, type Stack } from './stack.ts';
import { type Budget, tokenExcess } from './token-excess.ts';

export interface ReconcileFigures {
  readonly unknown: number;
  readonly landed: number;
  /** Of those that landed: settled as such. Has to be all. */
  readonly settled: number;
  /** Of those that never did: anything but unknown. Has to be none. */
  readonly guessed: number;
  /**
   * Milliseconds from the platform's acceptance to the settlement, by the ledger and the journal.
   */
  readonly settleMs: { readonly p50: number; readonly p99: number; readonly highest: number };
  /** Reads that reached the platform meanwhile, all of them the reconciler's, or caused by it. */
  readonly probes: number;
  /**
   * Of them, by what was asked for: lists by one of our
   * references, lists of an account, single orders.
   */
  readonly probesOf: { readonly reference: number; readonly account: number; readonly order: number };
  /** The most that a window of time holds above the budget; at most 0 where it was kept. */
  readonly overBudget: number;
}

const unknownCommands = 1000;
const landing = 700;
/**
 * From when the write was answered: long enough for all of them
 * to be unknown before the first one lands.
 */
const landsAfterMs: readonly [number, number] = [45_000, 60_000];
const placedAtOnce = 16;
/** The defaults of `TIDEMARK_PROBE_RATE` and `TIDEMARK_PROBE_BURST`. */
const probeBudget: Budget = { perSecond: 5, burst: 20 };
const settleWithinMs = 120_000;

/**
 * A thousand commands that nobody knows the outcome of, most of which land later. The audit is kept
 * out of the way, so that every read after them is a probe.
 */
export async function measureReconcile(cleanup: Cleanup, stack: Stack): Promise<ReconcileFigures> {
  const sandbox = await startSandboxProcess(cleanup, { openOrders: 1000, knownOrders: 1000 });
  const options = { part: 'reconcile', env: { TIDEMARK_AUDIT_INTERVAL_MS: '3600000' } };
  const commanding = await startCommandingService(cleanup, stack, sandbox, options);
  const fromSeq = await lastSeq(sandbox);
  await placeUnknown(commanding, sandbox, landing);
  const { databaseUrl } = commanding.service;
  const landed = await untilAllLanded(sandbox);
  await untilSettled(databaseUrl, landed.size);
  const states = await commandsOf(databaseUrl);
  const waits = [...landed].map(([reference, atMs]) => {
    const command = states.get(reference);
    return command?.state === 'applied' && command.settledAtMs !== undefined ? command.settledAtMs - atMs : Number.NaN;
  });
  const settled = waits.filter((wait) => !Number.isNaN(wait));
  const guessed = [...states].filter(([reference, { state }]) => !landed.has(reference) && state !== 'unknown').length;
  const probes = await probeInstants(sandbox, fromSeq);
  await commanding.service.stop();
  await sandbox.stop();
  return {
    unknown: states.size,
    landed: landed.size,
    settled: settled.length,
    guessed,
    settleMs: { p50: percentile(settled, 0.5), p99: percentile(settled, 0.99), highest: percentile(settled, 1) },
    probes: probes.length,
    probesOf: {
      reference: probes.filter(({ of }) => of === 'reference').length,
      account: probes.filter(({ of }) => of === 'account').length,
      order: probes.filter(({ of }) => of === 'order').length,
    },
    overBudget:
      Math.round(
        tokenExcess(
          probes.map(({ atMs }) => atMs),
          probeBudget,
        ) * 10,
      ) / 10,
  };
}

/**
 * Places a thousand orders that are all answered 504: the first `landing`
 * of them are done later, the others never.
 */
export async function placeUnknown(
  { rest }: CommandingService,
  sandbox: SandboxProcess,
  landingLater: number,
): Promise<void> {
  const never = unknownCommands - landingLater;
  const rule = { on: 'write', fault: 'outcome_unknown', write: 'place' };
  await setFaults(sandbox, [
    ...(landingLater === 0 ? [] : [{ ...rule, applied: 'late', delayMs: landsAfterMs, times: landingLater }]),
    ...(never === 0 ? [] : [{ ...rule, applied: 'no', times: never }]),
  ]);
  const accounts = tradedAccounts(sandbox);
  let next = 0;
  const placer = async () => {
    for (let index = next++; index < unknownCommands; index = next++) {
      const { path, body } = restingOrder(accounts, index);
      const { status, text } = await rest.command('POST', path, body);
      if (status !== 202) throw new Error(`a 504 of the platform was answered ${status}: ${text.slice(0, 200)}`);
    }
  };
  await Promise.all(Array.from({ length: placedAtOnce }, placer));
}

async function setFaults({ description }: SandboxProcess, rules: readonly object[]): Promise<void> {
  const answer = await fetch(`${description.control}/faults`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ rules }),
  });
  if (!answer.ok) throw new Error(`the sandbox refused the faults: ${answer.status} ${await answer.text()}`);
}

interface LedgerLine {
  readonly seq: number;
  readonly at: string;
  readonly [member: string]: unknown;
}

async function ledger({ description }: SandboxProcess, kinds: string, since = 0): Promise<LedgerLine[]> {
  const lines: LedgerLine[] = [];
  for await (const line of readLines(fetch, `${description.control}/ledger?kind=${kinds}&since=${since}`))
    lines.push(JSON.parse(line) as LedgerLine);
  return lines;
}

async function lastSeq(sandbox: SandboxProcess): Promise<number> {
  return (await ledger(sandbox, 'request,answer')).at(-1)?.seq ?? 0;
}

/** When each of our references was accepted, by the ledger, once all that are to land have. */
async function untilAllLanded(sandbox: SandboxProcess): Promise<Map<string, number>> {
  for (const startMs = performance.now(); performance.now() - startMs < settleWithinMs; await systemClock.sleep(1000)) {
    const accepted = (await ledger(sandbox, 'decision')).filter((line) => line['decision'] === 'accepted');
    const landed = new Map(accepted.map((line) => [String(line['reference']), Date.parse(line.at)]));
    if (landed.size >= landing) return landed;
  }
  throw new Error('not all of the late orders landed');
}

async function untilSettled(databaseUrl: string, count: number): Promise<void> {
  for (const startMs = performance.now(); performance.now() - startMs < settleWithinMs; await systemClock.sleep(1000)) {
    const [row] = await onServer<{ settled: string }>(
      databaseUrl,
      `select count(*) as settled from commands where state = 'applied'`,
    );
    if (Number(row?.settled) >= count) return;
  }
}

interface StoredCommand {
  readonly state: string;
  readonly settledAtMs: number | undefined;
}

/** By the reference of its attempt. */
async function commandsOf(databaseUrl: string): Promise<Map<string, StoredCommand>> {
  const rows = await onServer<{ attempt_id: string; state: string; settled_ms: string | null }>(
    databaseUrl,
    `select a.attempt_id, c.state, (extract(epoch from c.settled_at) * 1000)::bigint::text as settled_ms
     from commands c join attempts a using (command_id)`,
  );
  return new Map(
    rows.map((row) => [
      row.attempt_id,
      { state: row.state, settledAtMs: row.settled_ms === null ? undefined : Number(row.settled_ms) },
    ]),
  );
}

/**
 * Reads of orders, by when they came in. Only the first page
 * counts: what follows belongs to the same read.
 */
async function probeInstants(
  sandbox: SandboxProcess,
  since: number,
): Promise<{ readonly atMs: number; readonly of: 'reference' | 'account' | 'order' }[]> {
  return (await ledger(sandbox, 'request', since))
    .filter(({ method, url, listener }) => {
      const isOrders = /^\/v1\/(predictions\/)?orders/.test(String(url));
      return method === 'GET' && listener !== 'control' && isOrders && !String(url).includes('cursor=');
    })
    .map(({ at, url }) => ({ atMs: Date.parse(at), of: askedFor(String(url)) }));
}

function askedFor(url: string): 'reference' | 'account' | 'order' {
  if (/[?&](clOrdId|clientOrderRef)=/.test(url)) return 'reference';
  return /\/orders\?/.test(url) ? 'account' : 'order';
}
