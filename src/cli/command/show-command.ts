import type { z } from 'zod';
import { updatePage } from '../../contract/rest-answers.ts';
import type { updateRecord } from '../../contract/update-record.ts';
import type { Attempt, Baseline, Command, CommandRequest, Evidence, Reason } from '../../domain/command.ts';
import { formatInstant } from '../../domain/instant.ts';
import type { Order } from '../../domain/order.ts';
import { type RecomputedVerdict, recomputeVerdict } from '../../domain/recompute-verdict.ts';
import type { SettlingUpdate } from '../../domain/settling.ts';
import { ProgramError } from '../../runtime/program-error.ts';
import { ageOf, formatTable, printable } from '../io/format-text.ts';
import type { CliIo } from '../io/io.ts';
import type { RestClient } from '../rest/rest-client.ts';
import { query, type RestFlags, restClient, segment } from '../rest/rest-flags.ts';
import { describeTerms, parseCommand, type RestCommand } from './describe-terms.ts';

/**
 * `command show`: the known facts of one command, in the order of time, and the verdict that
 * follows from the evidence alone.
 */
export async function showCommand(io: CliIo, id: string, flags: RestFlags): Promise<void> {
  const client = restClient(io, flags);
  const { body } = await client.ask({ method: 'GET', path: `/v1/commands/${segment(id)}` });
  const command = parseCommand(body);
  const recomputed = await recomputeFromRest(client, command);
  if (flags.json) io.stdout.write(`${JSON.stringify({ ...body, recomputed })}\n`);
  else io.stdout.write(describeCommand(command, body['timeline'], recomputed, io.clock.nowMs()));
}

function describeCommand(
  command: RestCommand,
  timeline: unknown,
  recomputed: RecomputedVerdict,
  nowMs: number,
): string {
  const {
    commandId,
    outcome,
    state,
    presumedAbsent,
    kind,
    accountId,
    stream,
    orderId,
    orderStatus,
    principal,
    reason,
  } = command;
  // The reason is that of the last doubt, refusal or settlement; an order that lands after a
  // person's word has none of its own.
  const overruled = reason?.code === 'SETTLED_BY_PERSON' && recomputed.because !== 'person';
  const facts: [string, string | undefined][] = [
    ['command', commandId],
    ['outcome', `${outcome}${state === outcome ? '' : ` (${state})`}${presumedAbsent ? ', presumed absent' : ''}`],
    [
      'reason',
      reason && `${reason.message} (${reason.code})${overruled ? '; the evidence came later, and says otherwise' : ''}`,
    ],
    ['what', `${kind}: ${describeTerms(kind, command.terms ?? {})}`],
    ['account', `${accountId}, ${stream}`],
    ['order', orderStatus === undefined ? orderId : `${orderId} (${orderStatus})`],
    ['caller', command.callerRef],
    [
      'asked',
      `${command.createdAt}, ${ageOf(command.createdAt, nowMs)} ago${principal === undefined ? '' : `, by ${principal}`}`,
    ],
    [overruled ? 'first settled' : 'settled', command.settledAt],
    ['evidence', verdictLine(recomputed)],
  ];
  const known = facts.filter((fact): fact is [string, string] => fact[1] !== undefined);
  const head = formatTable(known.map(([name, value]) => [name, printable(value)]));
  return `${head}\n${timelineTable(timeline)}`;
}

/** `because` is the rule for the verdict: docs/commands.md. */
function verdictLine({ state, because, agrees }: RecomputedVerdict): string {
  const rests = `${state}, by ${because.replaceAll('_', ' ')}`;
  return agrees ? `computed again: ${rests}` : `DIFFERS: computed again it is ${rests}`;
}

type Entry = Readonly<Record<string, unknown>>;

/**
 * An entry that is there twice, as the step of an attempt and
 * as the fact of that step, is shown once.
 */
function timelineTable(timeline: unknown): string {
  const entries: readonly Entry[] = Array.isArray(timeline) ? timeline : [];
  const answers = new Set(entries.filter(({ kind }) => kind === 'answer').map(({ attemptId }) => attemptId));
  const once = entries.filter(({ what, kind, code, attemptId }) => {
    if (what === 'answered') return !answers.has(attemptId);
    return kind !== 'note' || (code !== 'prepared' && code !== 'sending');
  });
  return formatTable(
    once.map((entry) => [entry['at'], whatOf(entry), detailOf(entry)].map((cell) => printable(String(cell)))),
  );
}

function whatOf({ what, kind, code, number, state }: Entry): string {
  if (what === 'evidence') return `${String(kind)} ${String(code)}`;
  return `attempt ${String(number)} ${String(what)}${state === undefined ? '' : ` ${String(state)}`}`;
}

function detailOf({ what, attemptId, reason, detail }: Entry): string {
  const facts = what === 'evidence' ? detail : { reason };
  const texts = isRecord(facts) ? Object.entries(facts).flatMap(([name, value]) => factOf(name, value)) : [];
  return texts.length === 0 ? String(attemptId ?? '') : texts.join(', ');
}

function factOf(name: string, value: unknown): string[] {
  if (value === undefined) return [];
  if (name.endsWith('AtMs') && typeof value === 'number') return [`${name.slice(0, -2)} ${formatInstant(value)}`];
  if (!isRecord(value)) return [`${name} ${String(value)}`];
  const { code, message, status } = value;
  if (typeof message !== 'string') return [`${name} ${JSON.stringify(value)}`];
  return [`${message} (${String(code)}${status === undefined ? '' : `, ${String(status)}`})`];
}

function isRecord(value: unknown): value is Entry {
  return typeof value === 'object' && value !== null;
}

/**
 * The verdict that follows from the evidence and the log of updates, computed here: the service is
 * asked for the facts alone.
 */
async function recomputeFromRest(client: RestClient, command: RestCommand): Promise<RecomputedVerdict> {
  const evidence = decodeEvidence(command);
  const named = evidence.map(({ detail }) => detail['orderId']).filter((id) => typeof id === 'string');
  const orderIds = new Set(command.orderId === undefined ? named : [command.orderId, ...named]);
  const updates: SettlingUpdate[] = [];
  for (const orderId of orderIds) updates.push(...(await readUpdates(client, command, orderId)));
  return recomputeVerdict(decodeCommand(command), evidence, updates);
}

/**
 * The part of an order's history that counts: above the baseline. An order that is gone, or that we
 * may not see, adds nothing.
 */
async function readUpdates(
  client: RestClient,
  { stream, baseline }: RestCommand,
  orderId: string,
): Promise<SettlingUpdate[]> {
  const updates: SettlingUpdate[] = [];
  let after: string | undefined = String(baseline?.revision ?? 0);
  while (after !== undefined) {
    const path = `/v1/orders/${stream}/${encodeURIComponent(orderId)}/updates${query({ after, limit: '500' })}`;
    const answer = await client.ask({ method: 'GET', path }).catch((error: unknown) => {
      if (error instanceof ProgramError && error.code === 'ORDER_NOT_FOUND') return undefined;
      throw error;
    });
    if (answer === undefined) return updates;
    const page = updatePage.parse(answer.body);
    updates.push(...page.items.map(decodeUpdate));
    after = page.next;
  }
  return updates;
}

/**
 * Converts a command of REST to the form that the rules of settling take. Fields that the rules
 * never read (shard, hash) are not in REST, and stay empty.
 */
function decodeCommand(command: RestCommand): Command {
  const { commandId, principal, idempotencyKey, state, version, presumedAbsent, misses, orderId, reason } = command;
  return {
    commandId,
    shard: 0,
    principal,
    idempotencyKey,
    requestHash: '',
    request: requestOf(command),
    state,
    version,
    presumedAbsent,
    misses,
    ...(orderId !== undefined && { orderId }),
    ...(reason !== undefined && { reason: reasonOf(reason) }),
    ...(command.baseline !== undefined && { baseline: baselineOf(command.baseline) }),
    ...(command.seenPendingAt !== undefined && { seenPendingAt: positionOf(command.seenPendingAt) }),
    deadlineAtMs: Date.parse(command.deadlineAt),
    createdAtMs: Date.parse(command.createdAt),
    updatedAtMs: Date.parse(command.updatedAt),
    ...(command.settledAt !== undefined && { settledAtMs: Date.parse(command.settledAt) }),
    attempts: command.attempts.map(attemptOf),
  };
}

function decodeEvidence({ evidence = [] }: RestCommand): Evidence[] {
  return evidence.map(({ number, kind, code, detail, attemptId, at }) => ({
    number,
    kind,
    code,
    detail,
    ...(attemptId !== undefined && { attemptId }),
    atMs: Date.parse(at),
  }));
}

function decodeUpdate(record: z.infer<typeof updateRecord>): SettlingUpdate {
  const { revision, sourceVersion, sourceEpoch = 0, cause, order } = record;
  // zod writes an optional field as `T | undefined`; from JSON it is either there or not.
  return { revision, ...versionOf(sourceVersion), sourceEpoch, cause, order: order as Order };
}

function requestOf({ kind, stream, accountId, orderId = '', terms = {} }: RestCommand): CommandRequest {
  // The terms were checked against the shape of their endpoint before they were journaled.
  return (
    kind === 'place' ? { kind, stream, accountId, terms } : { kind, stream, accountId, orderId, terms }
  ) as CommandRequest;
}

function baselineOf({
  sourceVersion,
  working,
  rejectReason,
  rejectText,
  ...rest
}: NonNullable<RestCommand['baseline']>): Baseline {
  return {
    ...rest,
    ...versionOf(sourceVersion),
    working: working as Baseline['working'],
    ...(rejectReason !== undefined && { rejectReason }),
    ...(rejectText !== undefined && { rejectText }),
  };
}

function positionOf({ revision, sourceVersion }: NonNullable<RestCommand['seenPendingAt']>) {
  return { revision, ...versionOf(sourceVersion) };
}

function versionOf(sourceVersion: string | undefined): { readonly sourceVersion?: bigint } {
  return sourceVersion === undefined ? {} : { sourceVersion: BigInt(sourceVersion) };
}

function attemptOf({
  attemptId,
  number,
  state,
  epoch,
  preparedAt,
  sendingAt,
  answeredAt,
  reason,
}: RestCommand['attempts'][number]): Attempt {
  return {
    attemptId,
    number,
    state,
    epoch: BigInt(epoch),
    preparedAtMs: Date.parse(preparedAt),
    ...(sendingAt !== undefined && { sendingAtMs: Date.parse(sendingAt) }),
    ...(answeredAt !== undefined && { answeredAtMs: Date.parse(answeredAt) }),
    ...(reason !== undefined && { reason: reasonOf(reason) }),
  };
}

function reasonOf({ code, message, status }: NonNullable<RestCommand['reason']>): Reason {
  return { code, message, ...(status !== undefined && { status }) };
}
