import { compareInstants, parseInstant } from './instant.ts';
import {
  type FieldRule,
  fieldsWhere,
  type Instrument,
  isTold,
  type Leg,
  type OrderView,
  orderTable,
  type WorkingTerms,
} from './order.ts';
import { sameLetters, sameSymbol, symbolLetters } from './symbol.ts';

/** An order is its id and its account: all else may change (docs/merging.md, "Account orders"). */
type Identified = Pick<OrderView, 'stream' | 'orderId' | 'accountId'>;

/** The field that shows two views are not the same order. Undefined: they are. */
export function contradictedIdentity(a: Identified, b: Identified): string | undefined {
  if (a.stream !== b.stream || a.orderId !== b.orderId) return 'orderId';
  return a.accountId === b.accountId ? undefined : 'accountId';
}

/** Equal also in absent fields. */
export function sameInstrument(a: Instrument, b: Instrument): boolean {
  if (a === b) return true;
  if (a.outcome !== b.outcome || (a.legs === undefined) !== (b.legs === undefined) || contradictsInstrument(a, b))
    return false;
  return a.legs === undefined || a.legs.every((leg, index) => leg.positionEffect === b.legs?.[index]?.positionEffect);
}

/**
 * Over the fields both have: a field one source leaves out does not contradict the other. Nor does
 * another spelling: BRK/B is BRK.B. A market's signs count, since B70.5 and B705 are two.
 */
export function contradictsInstrument(a: Instrument, b: Instrument): boolean {
  const isSame = a.kind === 'prediction' ? sameSymbol : sameLetters;
  if (a.kind !== b.kind || !isSame(a.symbol, b.symbol)) return true;
  if (a.outcome !== undefined && b.outcome !== undefined && a.outcome !== b.outcome) return true;
  return a.legs !== undefined && b.legs !== undefined && contradictsLegs(a.legs, b.legs);
}

/** In order: an order's own side is its first leg's. */
function contradictsLegs(a: readonly Leg[], b: readonly Leg[]): boolean {
  return a.length !== b.length || a.some((leg, index) => contradictsLeg(leg, b[index]));
}

export function contradictsLeg(a: Leg, b: Leg | undefined): boolean {
  if (b === undefined || !sameLetters(a.symbol, b.symbol) || a.side !== b.side || a.ratioQty !== b.ratioQty)
    return true;
  return a.positionEffect !== undefined && b.positionEffect !== undefined && a.positionEffect !== b.positionEffect;
}

/** Whether the other leg has the part this one leaves out. */
export function isLearntMore(leg: Leg, other: Leg): boolean {
  return leg.positionEffect === undefined && other.positionEffect !== undefined;
}

/**
 * The content of an account order's winning view: the fields its stream events and its list rows
 * both have. Fields the order takes from elsewhere (legs, references, history) are joined on their
 * own and are not content. Nor are a symbol's signs: of two spellings at one instant the first one
 * stays.
 */
export function accountContent(view: OrderView): string {
  return JSON.stringify(contentOf(view));
}

/**
 * Whether two views at one instant differ, over the fields both have. Another spelling of the same
 * instrument or side is no difference: if lists and events spell differently, no read could end it.
 */
export function contradictsContent(a: OrderView, b: OrderView): boolean {
  const theirs = toldBy(b);
  return toldBy(a).some((value, at) => value !== undefined && theirs[at] !== undefined && value !== theirs[at]);
}

function toldBy(view: OrderView): unknown[] {
  const told = [...valuesOf(view, onAccounts), symbolLetters(view.instrument.symbol), directionOf(view.side)];
  return told.map((value) => (isTold(value) ? value : undefined));
}

/**
 * Whether two lists of legs name other contracts, or another position effect where both tell it.
 * Their order and spelling may differ.
 */
export function contradictsSpeltLegs(a: readonly Leg[], b: readonly Leg[]): boolean {
  const bothTell = [...a, ...b].every(({ positionEffect }) => positionEffect !== undefined);
  return speltLegs(a, bothTell) !== speltLegs(b, bothTell);
}

function speltLegs(legs: readonly Leg[], withEffects: boolean): string {
  const spelt = legs.map(({ symbol, side, ratioQty, positionEffect }) =>
    [symbolLetters(symbol), directionOf(side), ratioQty, ...(withEffects ? [positionEffect] : [])].join(' '),
  );
  return spelt.sort().join();
}

/**
 * `buy` and `buy_to_cover` are one direction, and so are `sell` and `sell_short`: the platform may
 * write either.
 */
export function directionOf(side: string): string {
  return side.split('_', 1)[0] ?? side;
}

/** All content of a prediction order's view. */
export function predictionContent(view: OrderView): string {
  return JSON.stringify([...valuesOf(view, terms), view.instrument, view.side, ...valuesOf(view, onPredictionsAlone)]);
}

/**
 * -1, 0 or 1 by code units. The total order that resolves a tie between views: any may win, only it
 * must always be the same one. Compares the text itself, not its hash: it is made on a tie only,
 * and a hash could collide.
 */
export function compareText(a: string, b: string): -1 | 0 | 1 {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function contentOf(view: OrderView): unknown[] {
  return [...valuesOf(view, onAccounts), symbolLetters(view.instrument.symbol), view.side];
}

function fieldsOf(...groups: readonly FieldRule['content'][]): readonly (keyof OrderView)[] {
  return groups.flatMap((group) => fieldsWhere(({ content }) => content === group) as (keyof OrderView)[]);
}

const terms = fieldsOf('state', 'terms', 'filled');
const onAccounts = [...terms, ...fieldsOf('expiry')];
const onPredictionsAlone = fieldsOf('references', 'history', 'expiry');

function valuesOf(view: OrderView, names: readonly (keyof OrderView)[]): unknown[] {
  return names.flatMap((name): unknown[] => {
    if (name === 'working') return [view.working.quantity, view.working.price, view.working.orderType];
    return [orderTable[name].kind === 'instant' ? instant(view[name] as string | undefined) : view[name]];
  });
}

/** By value: two sources may write one instant in two ways. */
function instant(text: string | undefined): string | undefined {
  return text === undefined ? undefined : parseInstant(text)?.toString();
}

/** Decimals are canonical, so text decides; `…00Z` and `…00.000Z` are the same instant. */
export function sameInstant(a: string | undefined, b: string | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && compareInstants(a, b) === 0);
}

export function sameWorking(a: WorkingTerms | undefined, b: WorkingTerms): boolean {
  return (
    a === b || (a !== undefined && a.quantity === b.quantity && a.price === b.price && a.orderType === b.orderType)
  );
}
