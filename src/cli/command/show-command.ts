import { type CommandHistory, commandHistory } from '../../contract/rest-answers.ts';
import { formatInstant } from '../../domain/instant.ts';
import { termsText } from '../../domain/terms-text.ts';
import { idKinds } from '../../service/rest/request-fields.ts';
import { shaped } from '../io/flag-text.ts';
import { ageOf, factsText, formatTable, printable } from '../io/format-text.ts';
import type { Verb } from '../rest/verb.ts';
import { orderOf } from './sent-command.ts';

export const commandId = shaped(
  idKinds.commandId,
  'It must be the whole id of a command: `tidemark command ls` prints it.',
);

/** The known facts about one command by time, and the verdict by the evidence alone. */
export const commandShow: Verb<typeof commandHistory> = {
  name: 'show',
  does: 'Prints the timeline of one command, and its verdict computed again from the evidence.',
  route: 'GET /v1/commands/{commandId}',
  takes: [['<command>', 'id of the command', commandId]],
  about: 'a command',
  answer: commandHistory,
  text: (command, _flags, io) => `${commandText(command, io.clock.nowMs())}\n${timelineTable(command.timeline)}`,
};

function commandText(command: CommandHistory, nowMs: number): string {
  const { commandId: id, result, state, kind, replaces, reason, recomputed } = command;
  // An order that lands after a person's word has another result, and the time stays the first.
  const overruled = command.evidence.some(({ kind: by }) => by === 'person') && recomputed.because !== 'person';
  return factsText({
    command: id,
    result: `${result}${state === result ? '' : ` (${state})`}${command.presumedAbsent ? ', presumed absent' : ''}`,
    reason: reason && `${reason.message} (${reason.code})`,
    what: `${kind}: ${termsText(kind, command.terms)}`,
    account: `${command.accountId}, ${command.stream}`,
    order: orderOf(command),
    replaces,
    caller: command.callerRef,
    asked: `${command.createdAt}, ${ageOf(command.createdAt, nowMs)} ago, by ${command.principal}`,
    [overruled ? 'first resolved' : 'resolved']: command.resolvedAt,
    evidence: verdictLine(recomputed),
  });
}

function verdictLine({ state, rule, agrees, complete }: CommandHistory['recomputed']): string {
  const rests = `${state}, since ${rule}`;
  if (agrees) return `computed again: ${rests}`;
  const unsure = complete ? '' : '; some updates of the order were not at hand, so this proves nothing';
  return `DIFFERS: computed again it is ${rests}${unsure}`;
}

type Entry = CommandHistory['timeline'][number];

/** An answer stands there as a step of its attempt and as a fact, and is shown once. */
function timelineTable(timeline: readonly Entry[]): string {
  const answers = new Set(
    timeline.map((entry) => (entry.what === 'evidence' && entry.kind === 'answer' ? entry.attemptId : undefined)),
  );
  const once = timeline.filter((entry) => {
    if (entry.what === 'answered') return !answers.has(entry.attemptId);
    return entry.what !== 'evidence' || entry.kind !== 'note' || !['prepared', 'sending'].includes(entry.code);
  });
  return formatTable(once.map((entry) => [entry.at, whatOf(entry), detailOf(entry)].map(printable)));
}

function whatOf(entry: Entry): string {
  if (entry.what === 'evidence') return `${entry.kind} ${entry.code}`;
  return `attempt ${entry.number} ${entry.what}${entry.what === 'answered' ? ` ${entry.state}` : ''}`;
}

function detailOf(entry: Entry): string {
  const facts = entry.what === 'evidence' ? entry.detail : entry.what === 'answered' ? { reason: entry.reason } : {};
  const texts = Object.entries(facts).flatMap(([name, value]) => factOf(name, value));
  return texts.length === 0 ? (entry.attemptId ?? '') : texts.join(', ');
}

function factOf(name: string, value: unknown): string[] {
  if (value === undefined) return [];
  if (name.endsWith('AtMs') && typeof value === 'number') return [`${name.slice(0, -2)} ${formatInstant(value)}`];
  if (!isRecord(value)) return [`${name} ${String(value)}`];
  const { code, message, status } = value;
  if (typeof message !== 'string') return [`${name} ${JSON.stringify(value)}`];
  return [`${message} (${String(code)}${status === undefined ? '' : `, ${String(status)}`})`];
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
