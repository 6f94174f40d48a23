import { ageOf } from '../age.ts';
import { describeTerms } from './describe-terms.ts';
import type { RestCommand } from './rest-command.ts';

/** Ids under which the venue or the platform may know the order, for whoever calls them. */
export interface VenueIds {
  readonly orderId?: string;
  readonly venueOrderId?: string;
}

/** All that somebody on call needs of one unresolved command: age, terms, what to name to the venue, what is known, and the line that settles it. */
export function describeUnresolved(command: RestCommand, venue: VenueIds, nowMs: number): string {
  const { kind, accountId, stream, commandId, outcome, presumedAbsent, createdAt, orderStatus } = command;
  const label = presumedAbsent ? ', presumed absent' : '';
  const lines = [
    `${outcome}${label}  ${kind}  ${accountId}  ${stream}  ${ageOf(createdAt, nowMs)} old`,
    `  command   ${commandId}`,
    `  terms     ${describeTerms(kind, command.terms ?? {})}`,
    `  reference ${command.attempts.map(({ attemptId }) => attemptId).join(', ') || '-'}`,
    `  order     ${venue.orderId ?? command.orderId ?? 'none seen'}${orderStatus === undefined ? '' : ` (${orderStatus})`}${venue.venueOrderId === undefined ? '' : `, at the venue ${venue.venueOrderId}`}`,
    ...(command.callerRef === undefined ? [] : [`  caller    ${command.callerRef}`]),
    ...evidenceLines(command),
    `  settle    ${settleLine(command)}`,
  ];
  return `${lines.join('\n')}\n`;
}

/** The last answer, and how often complete reads missed it: what the decision hangs on. `command show` has the rest. */
function evidenceLines({ evidence = [], reason }: RestCommand): string[] {
  const last = new Map<string, { code: string; at: string; count: number }>();
  for (const { kind, code, at } of evidence) {
    if (kind === 'note') continue;
    last.set(`${kind} ${code}`, { code, at, count: (last.get(`${kind} ${code}`)?.count ?? 0) + 1 });
  }
  const known = [...last].map(([what, { at, count }]) => `${what}${count === 1 ? '' : ` ${count} times, last`} ${at}`);
  const why =
    reason === undefined ? [] : [`${reason.message} (${reason.code}${reason.status === undefined ? '' : `, ${reason.status}`})`];
  const facts = [...why, ...known];
  return facts.map((fact, index) => `  ${index === 0 ? 'evidence ' : '         '} ${fact}`);
}

/** Which outcome is for the person to say: the platform's support, the venue, or its own screen knows. */
function settleLine({ commandId, kind }: RestCommand): string {
  const never = kind === 'place' ? 'rejected' : 'rejected|moot';
  return `tidemark command settle ${commandId} --outcome applied|${never} --reason "…"`;
}
