import type { CommandAnswer } from '../../contract/rest-answers.ts';
import { termsText } from '../../domain/terms-text.ts';
import { ageOf } from '../io/format-text.ts';

/** With its result, and the doubt about it. */
export function resultText({ result, presumedAbsent }: Pick<CommandAnswer, 'result' | 'presumedAbsent'>): string {
  return `${result}${presumedAbsent ? ', presumed absent' : ''}`;
}

/** The order's id, with its status if known. */
export function orderOf({ orderId, orderStatus }: Pick<CommandAnswer, 'orderId' | 'orderStatus'>): string | undefined {
  return orderStatus === undefined ? orderId : `${orderId} (${orderStatus})`;
}

/**
 * Everything a person on call needs for one unresolved command: age, terms, ids for the venue,
 * evidence, and the line to resolve it.
 */
export function describeUnresolved(command: CommandAnswer & { readonly venueOrderId?: string }, nowMs: number): string {
  const { kind, accountId, stream, commandId, createdAt, venueOrderId } = command;
  const atVenue = venueOrderId === undefined ? '' : `, at the venue ${venueOrderId}`;
  const lines = [
    `${resultText(command)}  ${kind}  ${accountId}  ${stream}  ${ageOf(createdAt, nowMs)} old`,
    `  command   ${commandId}`,
    `  terms     ${termsText(kind, command.terms)}`,
    `  reference ${command.attempts.map(({ attemptId }) => attemptId).join(', ') || '-'}`,
    `  order     ${orderOf(command) ?? 'none seen'}${atVenue}`,
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
function evidenceLines({ evidence = [], reason }: CommandAnswer): string[] {
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
function resolveLine({ commandId, kind }: CommandAnswer): string {
  const never = kind === 'place' ? 'rejected' : 'rejected|moot';
  return `tidemark command resolve ${commandId} --result applied|${never} --reason "…"`;
}
