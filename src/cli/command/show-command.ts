import type { RecomputedVerdict } from '../../domain/recompute-verdict.ts';
import { ageOf } from '../age.ts';
import { formatTable } from '../format-table.ts';
import type { CliIo } from '../io.ts';
import { printable } from '../printable.ts';
import { type RestFlags, restClient, segment } from '../rest-flags.ts';
import { describeTerms } from './describe-terms.ts';
import { recomputeFromRest } from './recompute-from-rest.ts';
import { type RestCommand, readCommand } from './rest-command.ts';

/** `command show`: what is known of one command, in the order of time, and what the evidence alone says of it. */
export async function showCommand(io: CliIo, id: string, flags: RestFlags): Promise<void> {
  const client = restClient(io, flags);
  const { body } = await client.ask({ method: 'GET', path: `/v1/commands/${segment(id)}` });
  const command = readCommand(body);
  const recomputed = await recomputeFromRest(client, command);
  if (flags.json) io.stdout.write(`${JSON.stringify({ ...body, recomputed })}\n`);
  else io.stdout.write(tell(command, body['timeline'], recomputed, io.clock.nowMs()));
}

function tell(command: RestCommand, timeline: unknown, recomputed: RecomputedVerdict, nowMs: number): string {
  const { commandId, outcome, state, presumedAbsent, kind, accountId, stream, orderId, orderStatus, principal, reason } = command;
  const facts: [string, string | undefined][] = [
    ['command', commandId],
    ['outcome', `${outcome}${state === outcome ? '' : ` (${state})`}${presumedAbsent ? ', presumed absent' : ''}`],
    ['reason', reason === undefined ? undefined : `${reason.message} (${reason.code})`],
    ['what', `${kind}: ${describeTerms(kind, command.terms ?? {})}`],
    ['account', `${accountId}, ${stream}`],
    ['order', orderStatus === undefined ? orderId : `${orderId} (${orderStatus})`],
    ['caller', command.callerRef],
    [
      'asked',
      `${command.createdAt}, ${ageOf(command.createdAt, nowMs)} ago${principal === undefined ? '' : `, by ${principal}`}`,
    ],
    ['settled', command.settledAt],
    ['evidence', verdictLine(recomputed)],
  ];
  const known = facts.filter((fact): fact is [string, string] => fact[1] !== undefined);
  const head = formatTable(known.map(([name, value]) => [name, printable(value)]));
  return `${head}\n${timelineTable(timeline)}`;
}

/** `because` is the rule that it rests on: docs/commands.md. */
function verdictLine({ state, because, agrees }: RecomputedVerdict): string {
  const rests = `${state}, by ${because.replaceAll('_', ' ')}`;
  return agrees ? `computed again: ${rests}` : `DIFFERS: computed again it is ${rests}`;
}

type Entry = Readonly<Record<string, unknown>>;

/** What stands twice, as the step of an attempt and as the fact that it was taken, is shown once. */
function timelineTable(timeline: unknown): string {
  const entries: readonly Entry[] = Array.isArray(timeline) ? timeline : [];
  const answers = new Set(entries.filter(({ kind }) => kind === 'answer').map(({ attemptId }) => attemptId));
  const once = entries.filter(({ what, kind, code, attemptId }) => {
    if (what === 'answered') return !answers.has(attemptId);
    return kind !== 'note' || (code !== 'prepared' && code !== 'sending');
  });
  return formatTable(once.map((entry) => [entry['at'], whatOf(entry), detailOf(entry)].map((cell) => printable(String(cell)))));
}

function whatOf({ what, kind, code, number, state }: Entry): string {
  if (what === 'evidence') return `${String(kind)} ${String(code)}`;
  return `attempt ${String(number)} ${String(what)}${state === undefined ? '' : ` ${String(state)}`}`;
}

function detailOf({ what, attemptId, reason, detail }: Entry): string {
  const facts = what === 'evidence' ? detail : { reason };
  const told = isRecord(facts) ? Object.entries(facts).flatMap(([name, value]) => factOf(name, value)) : [];
  return told.length === 0 ? String(attemptId ?? '') : told.join(', ');
}

function factOf(name: string, value: unknown): string[] {
  if (value === undefined) return [];
  if (!isRecord(value)) return [`${name} ${String(value)}`];
  const { code, message, status } = value;
  if (typeof message !== 'string') return [`${name} ${JSON.stringify(value)}`];
  return [`${message} (${String(code)}${status === undefined ? '' : `, ${String(status)}`})`];
}

function isRecord(value: unknown): value is Entry {
  return typeof value === 'object' && value !== null;
}
