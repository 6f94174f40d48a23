import type { z } from 'zod';
import { commandAnswer } from '../../contract/rest-answers.ts';
import { plural } from '../../runtime/plural.ts';
import { ageOf } from '../io/format-text.ts';
import { understood } from '../rest/rest-client.ts';

/** A command as REST shows it. */
export type RestCommand = z.infer<typeof commandAnswer>;

export function parseCommand(body: unknown): RestCommand {
  return understood('a command', commandAnswer, body);
}

/**
 * A command's terms in the words of the trade: "buy 10 AAPL limit at 187.5, day". A field without a
 * place in this sentence follows it by name.
 */
export function describeTerms(kind: string, terms: Readonly<Record<string, unknown>>): string {
  if (kind === 'cancel') return 'cancel the order';
  const {
    symbol,
    outcome,
    side,
    type,
    orderType,
    qty,
    quantity,
    price,
    stopPrice,
    stopPx,
    timeInForce,
    legs,
    ...others
  } = terms;
  const total = qty ?? quantity;
  const stop = stopPrice ?? stopPx;
  const instrument =
    symbol === undefined ? undefined : `${text(symbol)}${outcome === undefined ? '' : `/${text(outcome)}`}`;
  const words = [
    kind === 'replace' ? 'to' : undefined,
    side === undefined ? undefined : text(side).toLowerCase(),
    total === undefined ? undefined : text(total),
    instrument,
    type === undefined && orderType === undefined ? undefined : text(type ?? orderType).toLowerCase(),
    price === undefined ? undefined : `at ${text(price)}`,
    stop === undefined ? undefined : `stop ${text(stop)}`,
  ].filter((word) => word !== undefined);
  const rest = [
    ...(timeInForce === undefined ? [] : [text(timeInForce).toLowerCase()]),
    ...(Array.isArray(legs) && legs.length > 0 ? [plural(legs.length, 'leg')] : []),
    ...Object.entries(others).map(([name, value]) => `${name} ${text(value)}`),
  ];
  return [words.join(' '), ...rest].filter((part) => part !== '').join(', ');
}

function text(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/**
 * Everything a person on call needs for one unresolved command: age, terms, ids for the venue,
 * evidence, and the line to settle it.
 */
export function describeUnresolved(command: RestCommand & { readonly venueOrderId?: string }, nowMs: number): string {
  const { kind, accountId, stream, commandId, outcome, presumedAbsent, createdAt, orderId, orderStatus } = command;
  const { venueOrderId } = command;
  const label = presumedAbsent ? ', presumed absent' : '';
  const lines = [
    `${outcome}${label}  ${kind}  ${accountId}  ${stream}  ${ageOf(createdAt, nowMs)} old`,
    `  command   ${commandId}`,
    `  terms     ${describeTerms(kind, command.terms ?? {})}`,
    `  reference ${command.attempts.map(({ attemptId }) => attemptId).join(', ') || '-'}`,
    `  order     ${orderId ?? 'none seen'}${orderStatus === undefined ? '' : ` (${orderStatus})`}${venueOrderId === undefined ? '' : `, at the venue ${venueOrderId}`}`,
    ...(command.callerRef === undefined ? [] : [`  caller    ${command.callerRef}`]),
    ...evidenceLines(command),
    `  settle    ${settleLine(command)}`,
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
 * The person chooses the outcome: the platform's support, the
 * venue, or the platform's own screen knows it.
 */
function settleLine({ commandId, kind }: RestCommand): string {
  const never = kind === 'place' ? 'rejected' : 'rejected|moot';
  return `tidemark command settle ${commandId} --outcome applied|${never} --reason "…"`;
}
