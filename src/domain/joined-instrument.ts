import { compareDecimals } from './decimal.ts';
import { compareInstants } from './instant.ts';
import type { Instrument, Leg, OrderView } from './order.ts';
import { symbolLetters } from './symbol.ts';
import { compareText, contradictsLeg, isLearntMore } from './view-content.ts';

/** The place of a view in the life of its order. */
type Place = Pick<OrderView, 'cumQty' | 'updatedAt'>;

/** A fact some sources leave out, and the place of the view that has it. */
interface Told<T> extends Place {
  readonly value: T;
}

/**
 * The facts views have shown about an account order's instrument beside its symbol, which every
 * view has. A source that leaves a fact out does not deny it. A newer view with another value
 * changes it.
 */
export interface InstrumentJoin {
  /**
   * By rank. A row that names no option may be an option's short form in a list, so it takes
   * nothing back.
   */
  readonly kind: Instrument['kind'];
  readonly outcome?: Told<string>;
  readonly legs?: Told<readonly Leg[]>;
  /** From the newest view whose legs have position effects: lists may leave those out alone. */
  readonly effects?: Told<readonly Leg[]>;
}

const kindRanks = { equity: 0, option: 1, prediction: 2 } as const satisfies Record<Instrument['kind'], number>;

export function instrumentOfView({ instrument, cumQty, updatedAt }: OrderView): InstrumentJoin {
  const { kind, outcome, legs } = instrument;
  if (outcome === undefined && legs === undefined) return bare[kind];
  const told = <T>(value: T): Told<T> => ({ cumQty, updatedAt, value });
  return {
    kind,
    ...(outcome !== undefined && { outcome: told(outcome) }),
    ...(legs !== undefined && { legs: told(legs) }),
    ...(legs?.some(({ positionEffect }) => positionEffect !== undefined) && { effects: told(legs) }),
  };
}

/** One object for each, so an equity order costs nothing here. */
const bare: Readonly<Record<Instrument['kind'], InstrumentJoin>> = {
  equity: { kind: 'equity' },
  option: { kind: 'option' },
  prediction: { kind: 'prediction' },
};

/** The least join above both. Gives `a` itself when `b` adds nothing. */
export function mergeInstruments(a: InstrumentJoin, b: InstrumentJoin): InstrumentJoin {
  if (a === b) return a;
  const kind = kindRanks[b.kind] > kindRanks[a.kind] ? b.kind : a.kind;
  const outcome = laterOf(a.outcome, b.outcome, compareTold);
  const legs = laterOf(a.legs, b.legs, compareTold);
  const effects = laterOf(a.effects, b.effects, compareTold);
  const same = kind === a.kind && outcome === a.outcome && legs === a.legs && effects === a.effects;
  return same ? a : present(kind, outcome, legs, effects);
}

/**
 * After a correction: the read's facts. A fact it leaves out is kept, as if the read had shown it.
 */
export function correctInstrument(held: InstrumentJoin, view: OrderView): InstrumentJoin {
  const fresh = instrumentOfView(view);
  const { cumQty, updatedAt } = view;
  const kept = <T>(told: Told<T> | undefined): Told<T> | undefined => told && { ...told, cumQty, updatedAt };
  return present(
    kindRanks[held.kind] > kindRanks[fresh.kind] ? held.kind : fresh.kind,
    fresh.outcome ?? kept(held.outcome),
    fresh.legs ?? kept(held.legs),
    fresh.effects ?? kept(held.effects),
  );
}

/** The shown instrument, under the winning view's symbol. */
export function shownInstrument(winner: Instrument, { kind, outcome, legs, effects }: InstrumentJoin): Instrument {
  const shownLegs = legs && withEffects(legs.value, effects?.value ?? legs.value);
  if (kind === winner.kind && outcome?.value === winner.outcome && shownLegs === winner.legs) return winner;
  return {
    kind,
    symbol: winner.symbol,
    ...(outcome && { outcome: outcome.value }),
    ...(shownLegs && { legs: shownLegs }),
  };
}

/** Whether the shown view alone gives the same join, so nothing need be kept beside the order. */
export function isToldBy(join: InstrumentJoin, view: OrderView): boolean {
  const { outcome, legs, effects } = instrumentOfView(view);
  return isSame(join.outcome, outcome) && isSame(join.legs, legs) && isSame(join.effects, effects);
}

function isSame<T>(a: Told<T> | undefined, b: Told<T> | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  if (a.cumQty !== b.cumQty || a.updatedAt !== b.updatedAt) return false;
  // Legs read back from the database are other objects with the same content.
  return a.value === b.value || JSON.stringify(a.value) === JSON.stringify(b.value);
}

function withEffects(legs: readonly Leg[], told: readonly Leg[]): readonly Leg[] {
  if (told === legs) return legs;
  const filled = legs.map((leg) => {
    const same = told.find((other) => !contradictsLeg(leg, other) && isLearntMore(leg, other));
    return same?.positionEffect === undefined ? leg : { ...leg, positionEffect: same.positionEffect };
  });
  return filled.some((leg, index) => leg !== legs[index]) ? filled : legs;
}

/** Of two the last by `compare`, in a tie `a`; of one, itself. */
export function laterOf<T>(a: T | undefined, b: T | undefined, compare: (a: T, b: T) => number): T | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return compare(a, b) < 0 ? b : a;
}

/** Filled quantity first: it stays filled. */
export function compareFilled(a: Place, b: Place): number {
  return compareDecimals(a.cumQty, b.cumQty) || compareInstants(a.updatedAt, b.updatedAt);
}

function compareTold(a: Told<unknown>, b: Told<unknown>): number {
  return compareFilled(a, b) || (a.value === b.value ? 0 : compareText(contentOf(a.value), contentOf(b.value)));
}

/** Legs at one instant that are only spelt otherwise, or in another order, are the same ones. */
function contentOf(value: unknown): string {
  if (!Array.isArray(value)) return JSON.stringify(value);
  const legs = value.map((leg: Leg) => JSON.stringify({ ...leg, symbol: symbolLetters(leg.symbol) }));
  return legs.toSorted().join();
}

function present(
  kind: InstrumentJoin['kind'],
  outcome: InstrumentJoin['outcome'],
  legs: InstrumentJoin['legs'],
  effects: InstrumentJoin['effects'],
): InstrumentJoin {
  return { kind, ...(outcome && { outcome }), ...(legs && { legs }), ...(effects && { effects }) };
}
