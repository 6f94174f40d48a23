import type { AccountState } from './source-status.ts';

/**
 * All states for one account on one stream. `shownAs` says what `/status` calls each.
 * - `connecting`: no connection covers the account. `down`: the last attempt at one failed.
 *   `unanswered`: there is one, and it does not answer this subscription.
 * - `not_enrolled`, `login_required`: the account was refused. It is asked for again in time.
 * - `resyncing`: a connection acknowledged the subscription, and a later read runs.
 * - `unproven`: the read is complete. A replaced connection has not said goodbye yet.
 * - `live`: nothing is missing up to `Cover.upTo`, but for known losses (`Unrecovered`).
 * - `frozen`: the platform lost its store, and no connection opened since covers the account.
 *   `recovering`: one does, and the whole account is read.
 * - `stopped`: it is not followed here any more.
 */
export type SessionState = (typeof sessionStates)[number];

/** `stopped` shows nothing of its own: what was shown last stays. */
export const shownAs: Readonly<Record<Exclude<SessionState, 'stopped'>, AccountState>> = {
  connecting: 'connecting',
  down: 'down',
  unanswered: 'unanswered',
  not_enrolled: 'not_enrolled',
  login_required: 'login_required',
  resyncing: 'resyncing',
  unproven: 'resyncing',
  live: 'live',
  frozen: 'frozen',
  recovering: 'frozen',
};

/** In these the account has a `Cover`, in the others none. */
const covered: ReadonlySet<SessionState> = new Set(['resyncing', 'unproven', 'live', 'recovering'] as const);

export const isCovered = (state: SessionState): boolean => covered.has(state);

/**
 * All events of a session.
 *
 * - `read_begins`: a connection acknowledged the subscription, or what the last read proved is
 *   void; a read begins. `recovery_begins`: the same while the store is lost (`StoreLost.active`).
 * - `read`: it is complete, and no frame was lost since it began. `proven`: every replaced
 *   connection has said goodbye, and still none was lost.
 * - `refused`, `refused_not_enrolled`: by the answer to a subscription or to a read.
 *   `audit_denied`: by the answer to an audit. Whether it holds shows the next subscription.
 * - `unanswered`: no answer to a subscription in time.
 * - `cover_ended`: the connection that covers it ended. `cover_ended_unanswered`: and another one
 *   has been asked without an answer.
 * - `no_connection`, `no_login`: the source has no connection, and could not open one.
 * - `store_lost`: a row reports a loss that is not being handled. `stopped`: by us.
 *
 * A newer connection that takes over from the one before is no event: the state stays, with the
 * same cover (`Cover.takeOver`).
 */
export const sessionEvents = [
  'read_begins',
  'recovery_begins',
  'read',
  'proven',
  'refused',
  'refused_not_enrolled',
  'audit_denied',
  'unanswered',
  'cover_ended',
  'cover_ended_unanswered',
  'no_connection',
  'no_login',
  'store_lost',
  'stopped',
] as const;
export type SessionEvent = (typeof sessionEvents)[number];

/** `ignored`: true, and of no effect. `impossible`: a mistake of its sender; the state stays. */
type SessionTransition = SessionState | 'ignored' | 'impossible';

type Cell = SessionState | '·' | '!';

/** The columns of the table below. */
// biome-ignore format: a table
export const sessionStates =
                          ['connecting',     'down',           'unanswered',     'not_enrolled',   'login_required', 'resyncing',      'unproven',       'live',           'frozen',         'recovering',     'stopped'] as const;

/** A cell for each of the states, in their order. */
type Row<States> = { readonly [Place in keyof States]: Cell };

/**
 * Every state × every event. `·` is ignored, `!` impossible. The invariants, each with its holder:
 *
 * 1. An account has a cover in the covered states and in no other, and one that is left has ended:
 *    the two lines of `AccountSession.go` that choose the next cover and leave the one before. Only
 *    the rows `read_begins` and `recovery_begins` lead from a state without a cover to one with it.
 * 2. `live` is entered by `proven` alone, from `unproven` alone, which is entered by `read` alone:
 *    the rows `read` and `proven`. So since its cover began the account was read whole, without a
 *    frame lost meanwhile, and every connection before has proven its part.
 * 3. What makes that void leaves `live`: the column `live` has no `·` but for events that say
 *    nothing about the connection that covers it.
 * 4. After a lost store nothing but a complete read under the next epoch leads to `live`: the row
 *    `store_lost` leads to `frozen` from everywhere, and a refused account whose store is lost
 *    begins with `recovery_begins` again. A recovery that was cut short stays frozen.
 * 5. `stopped` is final: its column has nothing but `·` and `!`.
 *
 * `read`, `proven`, `audit_denied` and `cover_ended` are of one cover: their senders ask it first,
 * so they can't come in a state that has none.
 */
// biome-ignore format: a table
const table: Readonly<Record<SessionEvent, Row<typeof sessionStates>>> = {
  read_begins:            everywhere('resyncing'),
  recovery_begins:        ['!',              'recovering',     'recovering',     'recovering',     'recovering',     '!',              '!',              '!',              'recovering',     'recovering',     '·'],
  read:                   ['!',              '!',              '!',              '!',              '!',              'unproven',       '!',              '!',              '!',              'unproven',       '!'],
  proven:                 ['!',              '!',              '!',              '!',              '!',              '!',              'live',           '!',              '!',              '!',              '!'],
  refused:                everywhere('login_required'),
  refused_not_enrolled:   everywhere('not_enrolled'),
  audit_denied:           ['!',              '!',              '!',              '!',              '!',              '!',              '!',              'connecting',     '!',              '!',              '!'],
  unanswered:             ['unanswered',     'unanswered',     'unanswered',     'unanswered',     'unanswered',     '·',              '·',              '·',              '·',              '·',              '·'],
  cover_ended:            ['!',              '!',              '!',              '!',              '!',              'connecting',     'connecting',     'connecting',     '!',              'frozen',         '!'],
  cover_ended_unanswered: ['!',              '!',              '!',              '!',              '!',              'unanswered',     'unanswered',     'unanswered',     '!',              'frozen',         '!'],
  no_connection:          ['down',           'down',           'down',           '·',              'down',           '·',              '·',              '·',              '·',              '·',              '·'],
  no_login:               ['login_required', 'login_required', 'login_required', '·',              'login_required', '·',              '·',              '·',              '·',              '·',              '·'],
  store_lost:             everywhere('frozen'),
  stopped:                everywhere('stopped'),
};

/** From each state but the final one. */
function everywhere(to: SessionState): Row<typeof sessionStates> {
  return sessionStates.map((state) => (state === 'stopped' ? '·' : to)) as readonly Cell[] as Row<typeof sessionStates>;
}

/** The state to which an event takes a session. No other code decides this. */
export function sessionTransition(state: SessionState, event: SessionEvent): SessionTransition {
  const cell = table[event][sessionStates.indexOf(state)] as Cell;
  if (cell === '·') return 'ignored';
  return cell === '!' ? 'impossible' : cell;
}
