import { type AttemptState, awaitsVenue, type Command, type CommandKind, type CommandState } from './command.ts';

/**
 * A command's state, with two cases kept apart. One is an unknown command presumed absent: if its
 * order appears after all, it has landed late. The other is an accepted place with its order there
 * (`bound`): only the venue's decision is missing.
 */
export type Standing = CommandState | 'presumed_absent' | 'bound';

/**
 * A command's events.
 *
 * - `repeated`: by the platform's documented word its attempt had no effect, and another one is
 * prepared.
 * - `answered_*`: the answer to its attempt, now or learnt late; `taken_over_*`: a takeover found
 * its attempt in this state.
 * - `bound`: an order with one of its attempt ids is there, account and side are ours, and the
 * venue has taken it (place). `bound_undecided`: the venue has not decided yet; `bound_rejected`:
 * the venue refused it. Each with `_denied`: the same, although the platform answered that very
 * attempt that nothing was done.
 * - `reached`: the platform was seen to have it pending. `verdict_*`: a finding by
 * `resolveCommand`. `presumed_absent`: enough complete reads missed it.
 * - `person_*`: an operator's decision.
 */
export type CommandEvent = keyof typeof table;

/**
 * `late_landing`: an order is there that should not be, by the command's state or by the platform's
 * answer. Its account stops placing until a person has looked.
 */
type CommandAlarm = 'late_landing';

/**
 * `ignored`: true, and evidence, but no step. `impossible`: the event is its sender's mistake;
 * nothing is written.
 */
export type Transition = { readonly to: CommandState; readonly alarm?: CommandAlarm } | 'ignored' | 'impossible';

/**
 * `late`: to the state the event leads to by itself, with the alarm. `denied`: the platform denies
 * an order we have seen. For a place this is as bad as a late landing, so it stays in its state,
 * with the alarm. A replace's or cancel's effect may have another cause, so there it raises no
 * alarm.
 */
type Cell = CommandState | 'late' | 'denied' | '·' | '!';

/**
 * Every standing × every event. `·` is ignored, `!` impossible. Read it by column:
 *
 * - only a late landing leaves a final state; `refused` can also become `moot`, since a refused
 *   cancel gets one look at its order;
 * - a place with its order there waits only for the venue: its order resolves it, and a person may;
 * - a person may resolve a command that is unknown, accepted or in conflict, and no other; only a
 *   person may resolve a conflict;
 * - time alone changes nothing here: `presumed_absent` is a label.
 *
 * `open` does not take `rejected` for a verdict: its write may not have left yet, so the venue
 * refused another request.
 */
// biome-ignore format: a table
const table = {
  repeated:               { open: 'open',     unknown: '!',        presumed_absent: '!',        accepted: '!',        bound: '!',        refused: '!',    not_sent: '!',    applied: '!',      rejected: '!',    moot: '!',    conflict: '!' },
  answered_accepted:      { open: 'accepted', unknown: 'accepted', presumed_absent: 'accepted', accepted: '·',        bound: '·',        refused: '·',    not_sent: '·',    applied: '·',      rejected: '·',    moot: '·',    conflict: '·' },
  answered_rejected:      { open: 'rejected', unknown: 'rejected', presumed_absent: 'rejected', accepted: '·',        bound: 'rejected', refused: '·',    not_sent: '·',    applied: '·',      rejected: '·',    moot: '·',    conflict: '·' },
  answered_refused:       { open: 'refused',  unknown: 'refused',  presumed_absent: 'refused',  accepted: '·',        bound: 'denied',   refused: '·',    not_sent: '·',    applied: 'denied', rejected: '·',    moot: '·',    conflict: '·' },
  answered_not_sent:      { open: 'not_sent', unknown: 'not_sent', presumed_absent: 'not_sent', accepted: '·',        bound: 'denied',   refused: '·',    not_sent: '·',    applied: 'denied', rejected: '·',    moot: '·',    conflict: '·' },
  answered_unknown:       { open: 'unknown',  unknown: '·',        presumed_absent: '·',        accepted: '·',        bound: '·',        refused: '·',    not_sent: '·',    applied: '·',      rejected: '·',    moot: '·',    conflict: '·' },
  taken_over_sending:     { open: 'unknown',  unknown: '·',        presumed_absent: '·',        accepted: '·',        bound: '·',        refused: '·',    not_sent: '·',    applied: '·',      rejected: '·',    moot: '·',    conflict: '·' },
  taken_over_prepared:    { open: 'not_sent', unknown: '·',        presumed_absent: '·',        accepted: '·',        bound: '·',        refused: '·',    not_sent: '·',    applied: '·',      rejected: '·',    moot: '·',    conflict: '·' },
  reached:                { open: 'open',     unknown: 'unknown',  presumed_absent: 'unknown',  accepted: 'accepted', bound: '·',        refused: '·',    not_sent: '·',    applied: '·',      rejected: '·',    moot: '·',    conflict: '·' },
  bound:                  { open: 'applied',  unknown: 'applied',  presumed_absent: 'late',     accepted: 'applied',  bound: 'applied',  refused: 'late', not_sent: 'late', applied: '·',      rejected: 'late', moot: 'late', conflict: '·' },
  bound_undecided:        { open: 'accepted', unknown: 'accepted', presumed_absent: 'late',     accepted: 'accepted', bound: '·',        refused: 'late', not_sent: 'late', applied: '·',      rejected: 'late', moot: 'late', conflict: '·' },
  bound_rejected:         { open: 'rejected', unknown: 'rejected', presumed_absent: 'late',     accepted: 'rejected', bound: 'rejected', refused: 'late', not_sent: 'late', applied: '·',      rejected: '·',    moot: 'late', conflict: '·' },
  bound_denied:           { open: 'late',     unknown: 'late',     presumed_absent: 'late',     accepted: 'late',     bound: 'applied',  refused: 'late', not_sent: 'late', applied: 'denied', rejected: 'late', moot: 'late', conflict: '·' },
  bound_undecided_denied: { open: 'late',     unknown: 'late',     presumed_absent: 'late',     accepted: 'late',     bound: '·',        refused: 'late', not_sent: 'late', applied: 'denied', rejected: 'late', moot: 'late', conflict: '·' },
  bound_rejected_denied:  { open: 'late',     unknown: 'late',     presumed_absent: 'late',     accepted: 'late',     bound: 'rejected', refused: 'late', not_sent: 'late', applied: 'denied', rejected: 'late', moot: 'late', conflict: '·' },
  verdict_applied:        { open: 'applied',  unknown: 'applied',  presumed_absent: 'applied',  accepted: 'applied',  bound: '·',        refused: '·',    not_sent: '·',    applied: '·',      rejected: '·',    moot: '·',    conflict: '·' },
  verdict_rejected:       { open: '!',        unknown: 'rejected', presumed_absent: 'rejected', accepted: 'rejected', bound: '·',        refused: '·',    not_sent: '·',    applied: '·',      rejected: '·',    moot: '·',    conflict: '·' },
  verdict_moot:           { open: 'moot',     unknown: 'moot',     presumed_absent: 'moot',     accepted: 'moot',     bound: '·',        refused: 'moot', not_sent: '·',    applied: '·',      rejected: '·',    moot: '·',    conflict: '·' },
  verdict_conflict:       { open: 'conflict', unknown: 'conflict', presumed_absent: 'conflict', accepted: 'conflict', bound: '·',        refused: '·',    not_sent: '·',    applied: '·',      rejected: '·',    moot: '·',    conflict: '·' },
  presumed_absent:        { open: '!',        unknown: 'unknown',  presumed_absent: '·',        accepted: '·',        bound: '·',        refused: '·',    not_sent: '·',    applied: '·',      rejected: '·',    moot: '·',    conflict: '·' },
  person_applied:         { open: '!',        unknown: 'applied',  presumed_absent: 'applied',  accepted: 'applied',  bound: 'applied',  refused: '!',    not_sent: '!',    applied: '!',      rejected: '!',    moot: '!',    conflict: 'applied' },
  person_rejected:        { open: '!',        unknown: 'rejected', presumed_absent: 'rejected', accepted: 'rejected', bound: 'rejected', refused: '!',    not_sent: '!',    applied: '!',      rejected: '!',    moot: '!',    conflict: 'rejected' },
  person_not_sent:        { open: '!',        unknown: 'not_sent', presumed_absent: 'not_sent', accepted: 'not_sent', bound: 'not_sent', refused: '!',    not_sent: '!',    applied: '!',      rejected: '!',    moot: '!',    conflict: 'not_sent' },
  person_moot:            { open: '!',        unknown: 'moot',     presumed_absent: 'moot',     accepted: 'moot',     bound: 'moot',     refused: '!',    not_sent: '!',    applied: '!',      rejected: '!',    moot: '!',    conflict: 'moot' },
} as const satisfies Readonly<Record<string, Readonly<Record<Standing, Cell>>>>;

export const commandEvents = Object.keys(table) as readonly CommandEvent[];

/** A place's state by its order alone. */
const byOrder: Readonly<Partial<Record<CommandEvent, CommandState>>> = {
  bound: 'applied',
  bound_denied: 'applied',
  bound_undecided: 'accepted',
  bound_undecided_denied: 'accepted',
  bound_rejected: 'rejected',
  bound_rejected_denied: 'rejected',
};

export function standingOf(command: Pick<Command, 'state' | 'presumedAbsent' | 'request' | 'orderId'>): Standing {
  if (awaitsVenue(command)) return 'bound';
  return command.state === 'unknown' && command.presumedAbsent ? 'presumed_absent' : command.state;
}

/** The state a standing is a part of. */
export function stateOf(standing: Standing): CommandState {
  if (standing === 'bound') return 'accepted';
  return standing === 'presumed_absent' ? 'unknown' : standing;
}

/**
 * A command's state after an event (docs/commands.md, "Result of a write", "How unknown is
 * resolved"). No other code decides this: every step of the journal asks here first. The same event
 * again is ignored, or leads to the state the command is already in. So getting an event twice
 * never matters.
 */
export function commandTransition(kind: CommandKind, standing: Standing, event: CommandEvent): Transition {
  const cell: Cell = table[event][standing];
  if (cell === '·') return 'ignored';
  if (cell === '!') return 'impossible';
  if (cell === 'late') return { to: byOrder[event] ?? stateOf(standing), alarm: 'late_landing' };
  if (cell === 'denied') return kind === 'place' ? { to: stateOf(standing), alarm: 'late_landing' } : 'ignored';
  return { to: cell };
}

/**
 * One attempt's events.
 *
 * - `claimed`: prepared → sending is committed, by the process that will write. `abandoned`: given
 *   up without a byte written.
 * - `answered_*`: by the table "observed → result"; also learnt late, from a socket whose process
 *   had lost the lane. `taken_over`: found by the next lane holder.
 */
export type AttemptEvent = keyof typeof attemptTable;

export type AttemptTransition = { readonly to: AttemptState } | 'ignored' | 'impossible';

type AttemptCell = AttemptState | '·' | '!';

/** `over`: it is answered, or was never sent. One answer never replaces another. */
type AttemptStanding = Extract<AttemptState, 'prepared' | 'sending' | 'unknown'> | 'over';

/**
 * Every state × every event. `sending` is entered once and from `prepared` only: this gives "at
 * most one write per attempt". If an attempt may have been sent, giving it up never makes it
 * unsent, only the platform's word does.
 */
// biome-ignore format: a table
const attemptTable = {
  claimed:           { prepared: 'sending',  sending: '!',        unknown: '!',        over: '!' },
  abandoned:         { prepared: 'not_sent', sending: 'not_sent', unknown: '·',        over: '·' },
  answered_accepted: { prepared: '!',        sending: 'accepted', unknown: 'accepted', over: '·' },
  answered_rejected: { prepared: '!',        sending: 'rejected', unknown: 'rejected', over: '·' },
  answered_refused:  { prepared: '!',        sending: 'refused',  unknown: 'refused',  over: '·' },
  answered_not_sent: { prepared: 'not_sent', sending: 'not_sent', unknown: 'not_sent', over: '·' },
  answered_unknown:  { prepared: '!',        sending: 'unknown',  unknown: '·',        over: '·' },
  taken_over:        { prepared: 'not_sent', sending: 'unknown',  unknown: '·',        over: '·' },
} as const satisfies Readonly<Record<string, Readonly<Record<AttemptStanding, AttemptCell>>>>;

export const attemptEvents = Object.keys(attemptTable) as readonly AttemptEvent[];

/**
 * An attempt's state after an event. Only the process that claimed it and knows nothing was written
 * may take it from `sending` to `abandoned`.
 */
export function attemptTransition(state: AttemptState, event: AttemptEvent): AttemptTransition {
  const isOpen = state === 'prepared' || state === 'sending' || state === 'unknown';
  const cell: AttemptCell = attemptTable[event][isOpen ? state : 'over'];
  if (cell === '·') return 'ignored';
  return cell === '!' ? 'impossible' : { to: cell };
}
