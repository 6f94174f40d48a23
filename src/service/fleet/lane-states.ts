/**
 * All states of a process towards its lane.
 *
 * - `standby`: it has no lane, and asks for one.
 * - `beginning`: the row is ours, and the work begins. `begun_in_vain`: the lane was lost
 *   meanwhile, and the work has not begun yet.
 * - `held`: the work is under way. `over`: the term is over, and the work has not been ended yet.
 * - `ending`: it ends. `stopped`: the process asks for no lane any more.
 */
export type LaneState = (typeof laneStates)[number];

/** The states in which this process may act: in all others its lease is lost. */
export const acts = (state: LaneState): boolean => state === 'beginning' || state === 'held';

/** Others are shown three states: what comes with a term is its holder's alone. */
export const shownAs: Readonly<Record<LaneState, 'standby' | 'held' | 'stopped'>> = {
  standby: 'standby',
  beginning: 'held',
  begun_in_vain: 'held',
  held: 'held',
  over: 'held',
  ending: 'standby',
  stopped: 'stopped',
};

/**
 * All events of the keeper.
 *
 * - `taken`: Postgres gave the lane to us. `begun`, `not_begun`: how the beginning of the work
 *   ended.
 * - `lost`: the row has another epoch, or the database lacks commits of the term. Reported by a
 *   renewal, a batch or the check against Kafka, at any time.
 * - `change`: another lane is wanted. It is asked for again with each look at the fleet.
 * - `ends`: the work has to end. `ended`: it has. `stopped`: by the process's drain.
 */
export const laneEvents = ['taken', 'begun', 'not_begun', 'lost', 'change', 'ends', 'ended', 'stopped'] as const;
export type LaneEvent = (typeof laneEvents)[number];

/** `ignored`: true, and of no effect. `impossible`: a mistake of its sender; the state stays. */
type LaneTransition = LaneState | 'ignored' | 'impossible';

type Cell = LaneState | '·' | '!';

/** The columns of the table below. */
// biome-ignore format: a table
export const laneStates =
             ['standby',   'beginning',     'begun_in_vain', 'held',   'over',   'ending',  'stopped'] as const;

/** A cell for each of the states, in their order. */
type Row<States> = { readonly [Place in keyof States]: Cell };

/**
 * Every state × every event. `·` is ignored, `!` impossible. The invariants, and what holds each:
 *
 * 1. The work's `begin` and `end` are called in turn: `beginning` is entered from `standby` alone,
 *    `ending` from states with begun work alone, and `standby` is entered by `ended` alone.
 *    A term that is lost while its work begins waits for it (`begun_in_vain`).
 * 2. This process acts only in `beginning` and `held`: `LaneKeeper.go` loses the lease with the
 *    step that leaves them, before the work knows of it, and `LaneKeeper.confirm` loses it again
 *    where the answer to a reclaim comes later.
 * 3. A term that is over does not come back: from `over` only `ends` leads on. A lane that Postgres
 *    would still renew is asked for again, under another epoch.
 * 4. `stopped` is final, and entered without work: its row is `!` where there is one.
 */
// biome-ignore format: a table
const table: Readonly<Record<LaneEvent, Row<typeof laneStates>>> = {
  taken:     ['beginning', '!',             '!',             '!',      '!',      '!',       '!'],
  begun:     ['!',         'held',          'over',          '!',      '!',      '!',       '!'],
  not_begun: ['!',         'over',          'over',          '!',      '!',      '!',       '!'],
  lost:      ['·',         'begun_in_vain', 'begun_in_vain', 'over',   'over',   '·',       '·'],
  change:    ['·',         '·',             '·',             'over',   '·',      '·',       '·'],
  ends:      ['!',         '!',             '!',             'ending', 'ending', '!',       '!'],
  ended:     ['!',         '!',             '!',             '!',      '!',      'standby', '!'],
  stopped:   ['stopped',   '!',             '!',             '!',      '!',      '!',       '·'],
};

/** The state to which an event takes a lane's keeper. No other code decides this. */
export function laneTransition(state: LaneState, event: LaneEvent): LaneTransition {
  const cell = table[event][laneStates.indexOf(state)] as Cell;
  if (cell === '·') return 'ignored';
  return cell === '!' ? 'impossible' : cell;
}
