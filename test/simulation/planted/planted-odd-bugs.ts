import { isTerminal, type Leg } from '../../../src/domain/order.ts';
import { HeadCache } from '../../../src/service/orders/head-cache.ts';
import { AccountLooks } from '../../../src/service/sources/account-looks.ts';
import { Doubts } from '../../../src/service/sources/doubts.ts';
import { DatabaseOrders } from '../database-orders.ts';
import { passing } from '../passing.ts';
import type { PlantedBug } from './planted-bug.ts';
import { replaced } from './replaced.ts';

const { raise } = Doubts.prototype;
const { lookAtOpen } = AccountLooks.prototype;
const { readOrder } = DatabaseOrders.prototype;
const { set } = HeadCache.prototype;

const byIdAlone = [
  replaced(AccountLooks, 'lookAtOpen', async function (this: AccountLooks, ...asked: Parameters<typeof lookAtOpen>) {
    const look = await lookAtOpen.apply(this, asked);
    return look.complete ? { ...look, reused: new Set() } : look;
  }),
  replaced(DatabaseOrders, 'readOrder', function (this: DatabaseOrders, ...asked: Parameters<typeof readOrder>) {
    const { inQuestion: _left, ...stored } = readOrder.apply(this, asked) ?? {};
    return 'order' in stored ? stored : undefined;
  }),
];

/** Mistakes with what a platform does and no document says (surprises.ts). */
export const plantedOddBugs: readonly PlantedBug[] = [
  {
    name: 'an order whose symbol changed is not followed on',
    seed: 2,
    seeds: 'odd',
    shows: /symbol is .*, the platform has|was never seen/,
    deps: () => {
      const symbols = new Map<string, string>();
      return {
        intoIngest: (sink) =>
          passing(sink, (item) => {
            if (item.kind !== 'order') return item;
            const { orderId, instrument } = item.view;
            const known = symbols.get(orderId) ?? instrument.symbol;
            symbols.set(orderId, known);
            return instrument.symbol === known ? item : undefined;
          }),
      };
    },
  },
  {
    name: 'another word for the side of an order is not taken up',
    seed: 10,
    seeds: 'odd',
    shows: /side is .*, the platform has/,
    deps: () => {
      const sides = new Map<string, string>();
      return {
        intoIngest: (sink) =>
          passing(sink, (item) => {
            if (item.kind !== 'order') return item;
            const { orderId, side } = item.view;
            const known = sides.get(orderId) ?? side;
            sides.set(orderId, known);
            return { ...item, view: { ...item.view, side: known } };
          }),
      };
    },
  },
  {
    name: 'the first legs of an order are kept for good',
    seed: 10,
    seeds: 'odd',
    shows: /legs are .*, not/,
    deps: () => {
      const first = new Map<string, readonly Leg[]>();
      return {
        intoIngest: (sink) =>
          passing(sink, (item) => {
            if (item.kind !== 'order' || item.view.instrument.legs === undefined) return item;
            const { orderId, instrument } = item.view;
            const legs = first.get(orderId) ?? instrument.legs ?? [];
            first.set(orderId, legs);
            return { ...item, view: { ...item.view, instrument: { ...instrument, legs } } };
          }),
      };
    },
  },
  {
    name: 'an order whose legs differ contradicts itself, and is not followed on',
    seed: 4,
    seeds: 'odd',
    shows: /legs are .*, not|, the platform has/,
    deps: () => {
      const first = new Map<string, string>();
      return {
        intoIngest: (sink) =>
          passing(sink, (item) => {
            if (item.kind !== 'order' || item.view.instrument.legs === undefined) return item;
            const { orderId, instrument } = item.view;
            const legs = JSON.stringify(instrument.legs);
            const known = first.get(orderId) ?? legs;
            first.set(orderId, known);
            return legs === known ? item : undefined;
          }),
      };
    },
  },
  {
    name: 'an end that was shown is never taken back',
    seed: 32,
    seeds: 'odd',
    shows: /(leavesQty is 0|status is expired), the platform has/,
    deps: () => {
      const ended = new Set<string>();
      return {
        intoIngest: (sink) =>
          passing(sink, (item) => {
            if (item.kind !== 'order') return item;
            const { orderId, status } = item.view;
            if (status === 'expired') ended.add(orderId);
            return ended.has(orderId) && !isTerminal(status) ? undefined : item;
          }),
      };
    },
  },
  {
    name: 'only one order is taken for that of a place, and one that replaced it is not found',
    seeds: 'odd',
    shows: /took the place of .*, and is no order of/,
    deps: ({ database }) => {
      const bound = new Set<string>();
      return {
        database: {
          ...database,
          orders: {
            ...database.orders,
            // Whoever asks again asks for another order: the first was bound when it was asked for.
            readBindings: async (attemptIds) => {
              const found = await database.orders.readBindings(attemptIds.filter((id) => !bound.has(id)));
              for (const id of found.keys()) bound.add(id);
              return found;
            },
          },
        },
      };
    },
  },
  {
    name: 'of two changes within one instant of a coarse clock only the first counts',
    seed: 2,
    seeds: 'odd',
    shows: /(cumQty|status|workingPrice|workingQuantity|pendingAction) is .*, the platform has/,
    deps: () => {
      const seen = new Set<string>();
      return {
        intoIngest: (sink) =>
          passing(sink, (item) => {
            if (item.kind !== 'order' || item.view.updatedAt.includes('.')) return item;
            const instant = `${item.view.orderId} ${item.view.updatedAt}`;
            if (seen.has(instant)) return undefined;
            seen.add(instant);
            return item;
          }),
      };
    },
  },
  {
    name: 'a read never decides against a later instant',
    seed: 5,
    seeds: 'setback',
    shows: /(status|price|quantity|workingPrice|workingQuantity|pendingAction) is .*, the platform has/,
    plant: replaced(Doubts, 'raise', function (this: Doubts, ...[row, doubt, revision]: Parameters<typeof raise>) {
      if (doubt !== 'late') raise.call(this, row, doubt, revision);
    }),
  },
  {
    name: 'an id that is given again is not asked about',
    seed: 2,
    seeds: 'reusing',
    shows: /is shown as .*, and is|, the platform has/,
    plant: replaced(Doubts, 'raise', function (this: Doubts, ...raised: Parameters<typeof raise>) {
      if (!raised[1].startsWith('reused')) raise.apply(this, raised);
    }),
  },
  {
    name: 'an order is ours by its id alone',
    seed: 9,
    seeds: 'reusing',
    shows: /an order that it was not asked to cancel/,
    plant: () => {
      const back = byIdAlone.map((plant) => plant());
      return () => {
        for (const undo of back) undo();
      };
    },
  },
  {
    name: 'the next order under an id keeps the owner of the one before',
    seed: 8,
    seeds: 'reusing',
    shows: /is shown as .*, and is|an order that it was not asked to cancel/,
    plant: replaced(HeadCache, 'set', function (this: HeadCache, ...[key, head, slot]: Parameters<typeof set>) {
      const { commandId, origin } = this.get(key)?.order ?? head.order;
      const isNext = head.order.incarnation !== undefined;
      return set.call(this, key, isNext ? { ...head, order: { ...head.order, commandId, origin } } : head, slot);
    }),
  },
];
