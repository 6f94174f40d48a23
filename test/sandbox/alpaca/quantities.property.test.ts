import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { placeAlpacaOrder, replaceAlpacaOrder } from '../../../src/sandbox/alpaca/alpaca-order-writes.ts';
import { isHeld } from '../../../src/sandbox/alpaca/order-groups.ts';
import { readPatch, readPlace } from '../../../src/sandbox/alpaca/read-alpaca-order.ts';
import { orderVerb } from '../../../src/sandbox/control/order-verbs.ts';
import { isRefusal } from '../../../src/sandbox/entry/write.ts';
import { type ExchangeOrder, isClosed } from '../../../src/sandbox/exchange/exchange-order.ts';
import { type Fixed, whole } from '../../../src/sandbox/exchange/wire-text.ts';
import { forFile } from '../../support/commands/at-end.ts';
import { restingOrder, runningAlpaca } from '../../support/platform/alpaca.ts';

/** The venue answers only when an action says so. */
const sandbox = forFile(() => runningAlpaca({ venue: { answerMs: 'manual' } }));
const body = (value: object) => Buffer.from(JSON.stringify(value));

const action = fc.record({
  /** Of the orders so far, from the newest on. */
  which: fc.nat(2),
  does: fc.constantFrom(
    ...(['accept', 'accept', 'accept', 'fill', 'fill', 'fill', 'replace', 'replace'] as const),
    ...(['refuse', 'cancel', 'expire'] as const),
  ),
  count: fc.integer({ min: 1, max: 15 }),
});
const actions = fc.array(action, { minLength: 5, maxLength: 30, size: 'max' });
const runs = { numRuns: 1000 };
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never;

function place(terms: object): ExchangeOrder[] {
  const { entry, exchange } = sandbox().parts;
  const account = exchange.accounts.get('SIM-1001');
  if (account === undefined) throw new Error('no account');
  const order = placeAlpacaOrder(entry, account, readPlace(body({ ...restingOrder, ...terms }))).attempt();
  if (isRefusal(order)) throw new Error(order.message);
  return (order.terms.group?.members ?? [order.terms.clOrdId]).flatMap((id) => exchange.byClientReference(id));
}

/** Does it where that is possible; a replace may add an order. */
function act(orders: ExchangeOrder[], { which, does, count }: Action): void {
  const order = orders.at(-1 - (which % orders.length));
  if (order === undefined) return;
  if (does === 'replace') {
    const patch = readPatch(body({ qty: String(count) }));
    const made = replaceAlpacaOrder(sandbox().parts.entry, order.terms.account, order.terms.orderId, patch).attempt();
    if (!isRefusal(made)) orders.push(made);
    return;
  }
  // A venue does not answer what it does not have: exits before their entry, and successors.
  const waitsForEntry = isHeld(order) && orders[0]?.state !== 'filled';
  const isElsewhere = waitsForEntry || (order.terms.replaces !== undefined && order.state === 'pending_new');
  if (isElsewhere && does !== 'cancel') return;
  if (does === 'fill' && !['new', 'partially_filled'].includes(order.state)) return;
  // Parts: whole orders would leave nothing to take twice.
  const quantity = does === 'fill' ? { quantity: String(1 + (count % 5)) } : {};
  move(order, { action: does, ...quantity });
}

/** The entry is filled, and the exits work. */
function begin([entry, ...exits]: ExchangeOrder[]): [ExchangeOrder | undefined, object][] {
  return [
    [entry, accept],
    [entry, { action: 'fill' }],
    ...exits.map((exit): [ExchangeOrder, object] => [exit, accept]),
  ];
}

const accept = { action: 'accept' };

function move(order: ExchangeOrder | undefined, verb: object): void {
  sandbox().controls.moveOrder(order?.terms.orderId ?? '', orderVerb.parse(verb));
}

const filled = (orders: readonly ExchangeOrder[]): Fixed => orders.reduce((sum, { cumQty }) => sum + cumQty, 0n);
const max = (a: Fixed, b: Fixed): Fixed => (a > b ? a : b);
const works = ({ state }: ExchangeOrder) => state === 'new' || state === 'partially_filled';

describe('the quantity of several orders that are one', () => {
  it('is traded once by an order and the one that replaces it, which is answered with the replace alone', () => {
    fc.assert(
      fc.property(actions, (all) => {
        const chain = place({ qty: '10' });
        for (const each of all) {
          act(chain, each);
          expect(chain.filter(works).length).toBeLessThanOrEqual(1);
          for (const order of chain) {
            const old = chain.find(({ terms }) => terms.orderId === order.terms.replaces);
            if (old === undefined) continue;
            expect(filled([old, order])).toBeLessThanOrEqual(max(order.terms.quantity, old.cumQty));
            if (order.state === 'pending_new')
              expect([old.pendingAction, old.asked?.successor]).toEqual(['replace', order.terms.orderId]);
          }
        }
      }),
      runs,
    );
  });

  it('is never sold twice by the exits of a bracket, which end together', () => {
    const exits = { take_profit: { limit_price: '230' }, stop_loss: { stop_price: '180' } };
    fc.assert(
      fc.property(actions, fc.boolean(), (all, isEntered) => {
        const group = place({ order_class: 'bracket', ...exits });
        const [entry, ...rest] = group;
        if (isEntered) for (const [order, does] of begin(group)) move(order, does);
        for (const each of all) {
          act(group, each);
          expect(filled(rest)).toBeLessThanOrEqual(entry?.state === 'filled' ? whole(10) : 0n);
          const [one, other] = rest.map(({ state }) => isClosed(state));
          expect(one).toBe(other);
          if (one === true) expect(isClosed(entry?.state ?? 'new')).toBe(true);
        }
      }),
      runs,
    );
  });
});
