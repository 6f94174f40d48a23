import type { z } from 'zod';
import { commandAnswer } from '../../contract/rest-answers.ts';
import { termsText } from '../../domain/terms-text.ts';
import { ageOf } from '../io/format-text.ts';
import { understood } from '../rest/rest-client.ts';

/** A command as REST shows it. */
export type RestCommand = z.infer<typeof commandAnswer>;

export function parseCommand(body: unknown): RestCommand {
  return understood('a command', commandAnswer, body);
}

/**
 * Everything a person on call needs for one unresolved command: age, terms, ids for the venue,
 * evidence, and the line to resolve it.
 */
export function describeUnresolved(command: RestCommand & { readonly venueOrderId?: string }, nowMs: number): string {
  const { kind, accountId, stream, commandId, result, presumedAbsent, createdAt, orderId, orderStatus } = command;
  const { venueOrderId } = command;
  const status = orderStatus === undefined ? '' : ` (${orderStatus})`;
  const atVenue = venueOrderId === undefined ? '' : `, at the venue ${venueOrderId}`;
  const label = presumedAbsent ? ', presumed absent' : '';
  const lines = [
    `${result}${label}  ${kind}  ${accountId}  ${stream}  ${ageOf(createdAt, nowMs)} old`,
    `  command   ${commandId}`,
    `  terms     ${termsText(kind, command.terms)}`,
    `  reference ${command.attempts.map(({ attemptId }) => attemptId).join(', ') || '-'}`,
    `  order     ${orderId ?? 'none seen'}${status}${atVenue}`,
    ...(command.callerRef === undefined ? [] : [`  caller    ${command.callerRef}`]),
    ...evidenceLines(command),
    `  resolve    ${resolveLine(command)}`,
  ];
  return `${lines.join('\n')}\n`;
}

/**
 * The last answer, and how often complete reads missed it: the decision
 * depends on them. `command show` has the rest.
 */
function evidenceLines({ evidence = [], reason }: RestCommand): string[] {
  const last = new Map<string, { code: string; at: string; count: number }>();
  for (const { kind, code, at } of evidence) {
    if (kind === 'note') continue;
    last.set(`${kind} ${code}`, { code, at, count: (last.get(`${kind} ${code}`)?.count ?? 0) + 1 });
  }
  const known = [...last].map(([what, { at, count }]) => `${what}${count === 1 ? '' : ` ${count} times, last`} ${at}`);
  const why =
    reason === undefined
      ? []
      : [`${reason.message} (${reason.code}${reason.status === undefined ? '' : `, ${reason.status}`})`];
  const facts = [...why, ...known];
  return facts.map((fact, index) => `  ${index === 0 ? 'evidence ' : '         '} ${fact}`);
}

/**
 * The person chooses the result: the platform's support, the
 * venue, or the platform's own screen knows it.
 */
function resolveLine({ commandId, kind }: RestCommand): string {
  const never = kind === 'place' ? 'rejected' : 'rejected|moot';
  return `tidemark command resolve ${commandId} --result applied|${never} --reason "…"`;
}
