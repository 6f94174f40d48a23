import type { Head } from '../../domain/head.ts';
import type { Observation } from '../../domain/observation.ts';
import { type FieldRule, type Order, orderTable, type Stream } from '../../domain/order.ts';
import { composeOrder } from '../../domain/order-code.ts';
import { changedFields, contradictedFields } from '../../domain/order-fields.ts';
import { reduce } from '../../domain/reduce.ts';
import type { Random } from '../../runtime/random.ts';
import type { Venue } from '../venue.ts';
import type { Check, LifeStep, StreamFixtures } from './fixtures.ts';
import { check, readAs, readingOfFrame, readingOfRowText, shownValue } from './reading.ts';

/** Up to so many steps arrive in each order, more in a sample. */
const allOrdersUpTo = 5;
const sample = 200;

/** Each life comes to its end in every order of arrival, with repeated steps. */
export function* checkLives(
  venue: Venue,
  stream: Stream,
  { lives, accountId }: StreamFixtures,
  random: Random,
): Iterable<Check> {
  if (Object.keys(lives).length === 0) yield check('lives', stream, 'a life', 'none is recorded');
  for (const [name, steps] of Object.entries(lives)) {
    yield check('lives', stream, name, lifeFault(venue, { stream, accountId }, steps, random));
  }
}

function lifeFault(
  venue: Venue,
  origin: { readonly stream: Stream; readonly accountId: string },
  steps: readonly LifeStep[],
  random: Random,
): string | undefined {
  const observations: Observation[] = [];
  for (const [at, { cause, text }] of steps.entries()) {
    const isEvent = cause === 'stream';
    const reading = isEvent
      ? readingOfFrame(venue, origin.stream, origin.accountId, text)
      : readingOfRowText(venue, text, { ...origin, isEvent });
    if (reading.kind !== 'order') return `step ${at + 1}: ${readAs(reading)}`;
    const times = { sourceEpoch: 0, observedAtMs: 0, receivedMs: 0, bytes: text.length };
    observations.push({ kind: 'order', cause, ...reading.decoded, ...times });
  }
  const end = endOf(observations);
  if (typeof end === 'string') return `in its true order: ${end}`;
  return truthFault(end, observations) ?? arrivalFault(end, observations, random);
}

/** The state after all, or the reason why there is none. */
function endOf(observations: readonly Observation[]): Order | string {
  let head: Head | undefined;
  for (const observation of observations) {
    if (head !== undefined && observation.view.orderId !== head.order.orderId) return 'it has steps of several orders';
    const reduction = reduce(head, observation);
    if (reduction.result === 'conflict') return `a conflict, ${reduction.reason}: ${reduction.detail}`;
    head = reduction.head ?? head;
  }
  if (head === undefined) return 'it has no steps';
  return head.order.conflict === undefined ? head.order : `the end contradicts itself: ${head.order.conflict}`;
}

/** The state after all is the last step's, over the fields both have. */
function truthFault(end: Order, observations: readonly Observation[]): string | undefined {
  const last = observations.at(-1);
  if (last === undefined) return undefined;
  const shown = composeOrder(last.view, end);
  const field = contradictedFields(end, shown).find(isPromised);
  return field === undefined ? undefined : `its end has another ${field}: ${difference(end, shown, field)}`;
}

function arrivalFault(end: Order, observations: readonly Observation[], random: Random): string | undefined {
  const arrivals =
    observations.length <= allOrdersUpTo ? permutations(observations.keys()) : shuffles(observations.length, random);
  for (const arrival of arrivals) {
    const repeated = withRepeats(arrival, random);
    const other = endOf(repeated.flatMap((at) => observations[at] ?? []));
    const came = repeated.map((at) => at + 1).join(', ');
    if (typeof other === 'string') return `arriving as ${came}: ${other}`;
    const field = changedFields(end, other).find(isPromised);
    if (field !== undefined) return `arriving as ${came}, it has another ${field}: ${difference(other, end, field)}`;
  }
  return undefined;
}

/** Fields only one kind of source has are carried, not promised (`FieldRule`). */
function isPromised(field: keyof Order): boolean {
  const rule: FieldRule = orderTable[field];
  return field !== 'extra' && rule.register !== 'remembered';
}

function difference(found: Order, expected: Order, field: keyof Order): string {
  return `${shownValue(found[field])} in place of ${shownValue(expected[field])}`;
}

function* permutations(items: Iterable<number>): Iterable<number[]> {
  const all = [...items];
  if (all.length === 0) yield [];
  for (const item of all) for (const rest of permutations(all.filter((other) => other !== item))) yield [item, ...rest];
}

/** The reverse of the true order, and then by chance. */
function* shuffles(length: number, random: Random): Iterable<number[]> {
  const items = [...Array(length).keys()];
  yield items.toReversed();
  for (let count = 1; count < sample; count += 1) {
    for (let at = length - 1; at > 0; at -= 1) {
      const other = Math.floor(random.next() * (at + 1));
      [items[at], items[other]] = [items[other] ?? 0, items[at] ?? 0];
    }
    yield [...items];
  }
}

/** After each step, an earlier one comes again. */
function withRepeats(arrival: readonly number[], random: Random): number[] {
  return arrival.flatMap((step, at) => [step, arrival[Math.floor(random.next() * (at + 1))] ?? step]);
}
