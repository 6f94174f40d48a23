import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Command, type CommandRequest, commandStates } from '../../../src/domain/command.ts';
import { commandTransition, standingOf } from '../../../src/domain/command-machine.ts';
import type { Order } from '../../../src/domain/order.ts';
import { resolveCommand } from '../../../src/domain/resolve-command.ts';
import type { BoundOrder, Finding, Resolving, ResolvingUpdate, Verdict } from '../../../src/domain/resolving.ts';
import {
  boundTo,
  cancelOf,
  commandOf,
  equityOrder,
  placePrediction,
  predictionOrder,
  replaceOf,
  updateAt,
} from '../../support/commands/resolving.ts';
import { instantAt } from '../../support/orders/arbitrary-orders.ts';

/** Far above 2^53, in steps of one: what a float would merge. */
const bigVersion = 9007199254740992n;

const requests: readonly CommandRequest[] = [
  placePrediction,
  cancelOf(predictionOrder),
  cancelOf(equityOrder),
  replaceOf({ price: '0.5' }),
  replaceOf({ quantity: '12' }),
  replaceOf({ price: '0.5', quantity: '12' }),
  replaceOf({ timeInForce: 'day' }),
];

const shown = fc.record({
  status: fc.constantFrom('new', 'partially_filled', 'filled', 'canceled', 'rejected', 'unknown', 'pending_new'),
  pendingAction: fc.constantFrom('none', 'none', 'replace', 'cancel'),
  certainty: fc.constantFrom('certain', 'certain', 'certain', 'unknown_gap'),
  working: fc.record({ quantity: fc.constantFrom('10', '12', '14'), price: fc.constantFrom('0.4', '0.5', '0.6') }),
  origin: fc.constantFrom('tidemark', 'tidemark', 'external'),
  cumQty: fc.constantFrom('0', '3'),
  updatedAt: fc.constantFrom(...[1, 2, 3].map((second) => instantAt(second))),
});
const reasons = fc.constantFrom<Partial<Order>>(
  {},
  {},
  { rejectText: 'too late' },
  { rejectText: 'no', rejectReason: 'NO' },
);
const over: fc.Arbitrary<Partial<Order>> = fc.tuple(shown, reasons).map(([state, reason]) => ({ ...state, ...reason }));

/**
 * The history of one order above the baseline: each revision once, versions rising by one, now and
 * then in a new source epoch.
 */
const histories: fc.Arbitrary<ResolvingUpdate[]> = fc
  .tuple(fc.array(over, { maxLength: 8 }), fc.nat({ max: 20 }))
  .map(([states, epochAt]) =>
    states.map((state, i) => ({
      ...updateAt(i + 4, state),
      sourceVersion: bigVersion + BigInt(i),
      sourceEpoch: i >= epochAt ? 1 : 0,
    })),
  );

const commands: fc.Arbitrary<Command> = fc
  .tuple(fc.constantFrom(...requests), fc.constantFrom(...commandStates), fc.boolean())
  .map(([request, state, presumedAbsent]) => {
    const command = commandOf(request, { state, presumedAbsent: presumedAbsent && state === 'unknown' });
    return command.baseline === undefined
      ? command
      : { ...command, baseline: { ...command.baseline, sourceVersion: bigVersion + 1n } };
  });

const bindings = fc.array(
  fc.record({ orderId: fc.constantFrom(predictionOrder.orderId, 'another'), matches: fc.boolean() }),
  {
    maxLength: 3,
  },
);
const boundOf = (command: Command, some: readonly { orderId: string; matches: boolean }[]): BoundOrder[] =>
  command.request.kind === 'place' ? some.map((each) => boundTo(command, each)) : [];

/** Account orders have neither versions nor epochs. */
function judge(resolving: Resolving): Finding {
  const { command, updates } = resolving;
  if (command.request.stream === 'prediction') return resolveCommand(resolving);
  const unversioned = updates.map(({ sourceVersion: _none, ...update }) => ({ ...update, sourceEpoch: 0 }));
  return resolveCommand({ ...resolving, updates: unversioned });
}

describe('what is found about a command', () => {
  it('never depends on the order or the number of times in which its updates came', () => {
    const shuffled = histories.chain((history) =>
      fc.tuple(
        fc.constant(history),
        fc
          .shuffledSubarray([...history, ...history], { minLength: 0, maxLength: history.length })
          .chain((repeats) =>
            fc.shuffledSubarray([...history, ...repeats], { minLength: history.length + repeats.length }),
          ),
      ),
    );
    fc.assert(
      fc.property(commands, shuffled, bindings, (command, [history, arrived], some) => {
        const bound = boundOf(command, some);
        const found = judge({ command, updates: history, bound, successor: {} });
        expect(judge({ command, updates: arrived, bound: bound.toReversed(), successor: {} })).toEqual(found);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is not reversed by what happens to the order later', () => {
    fc.assert(
      fc.property(commands, histories, fc.nat({ max: 8 }), bindings, (command, history, cut, some) => {
        const bound = boundOf(command, some);
        const found = judge({ command, updates: history.slice(0, cut), bound, successor: {} });
        if (found.kind !== 'verdict') return;
        const later = judge({ command, updates: history, bound, successor: {} });
        if (command.request.kind === 'place' && command.state === 'rejected') return;
        expect(later.kind).toBe('verdict');
        expect(mayBecome[found.result]).toContain(resultOf(later));
      }),
      { numRuns: 2_000 },
    );
  });

  it('once taken, is not taken again nor taken back by hearing the same', () => {
    fc.assert(
      fc.property(commands, histories, bindings, (command, updates, some) => {
        const bound = boundOf(command, some);
        const found = judge({ command, updates, bound, successor: {} });
        if (found.kind !== 'verdict') return;
        const transition = commandTransition(command.request.kind, standingOf(command), found.event);
        if (typeof transition === 'string') return;
        const orderId =
          command.request.kind === 'place' && transition.to !== 'conflict' ? { orderId: found.orderId } : {};
        const resolved = { ...command, ...orderId, state: transition.to, presumedAbsent: false };
        const again = judge({ command: resolved, updates, bound, successor: {} });
        expect(again.kind).not.toBe('verdict');
      }),
      { numRuns: 2_000 },
    );
  });

  it('is the same whether the place where it was seen pending was recorded on the way or not', () => {
    fc.assert(
      fc.property(commands, histories, fc.nat({ max: 8 }), (command, history, cut) => {
        const reached = judge({ command, updates: history.slice(0, cut), successor: {} });
        if (reached.kind !== 'reached') return;
        const told = { ...command, seenPendingAt: reached.at };
        const [with_, without] = [told, command].map((each) =>
          judge({ command: each, updates: history, successor: {} }),
        );
        if (without?.kind === 'reached') expect(with_).toEqual({ kind: 'nothing' });
        else expect(with_).toEqual(without);
      }),
      { numRuns: 10_000 },
    );
  });

  it('is nothing where nothing went through ingest', () => {
    fc.assert(
      fc.property(commands, (command) => {
        expect(judge({ command, updates: [] })).toEqual({ kind: 'nothing' });
      }),
    );
  });

  it('is never a verdict that the state machine calls impossible', () => {
    fc.assert(
      fc.property(commands, histories, bindings, (command, updates, some) => {
        const found = judge({ command, updates, bound: boundOf(command, some), successor: {} });
        if (found.kind === 'verdict')
          expect(commandTransition(command.request.kind, standingOf(command), found.event)).not.toBe('impossible');
      }),
      { numRuns: 2_000 },
    );
  });

  it('is never rejected or in conflict for a replace or cancel that is still in flight', () => {
    fc.assert(
      fc.property(commands, histories, (command, updates) => {
        fc.pre(command.request.kind !== 'place');
        const found = judge({ command: { ...command, state: 'open' }, updates });
        expect(['applied', 'moot', undefined]).toContain(resultOf(found));
        expect(found.kind).not.toBe('reached');
      }),
      { numRuns: 1_000 },
    );
  });

  it('never is a verdict on a replace or cancel by versions at or below the baseline, or of a later source epoch', () => {
    fc.assert(
      fc.property(commands, histories, (command, updates) => {
        fc.pre(command.baseline !== undefined && command.request.stream === 'prediction');
        const stale = updates.filter(
          ({ sourceEpoch, sourceVersion }) => sourceEpoch > 0 || (sourceVersion ?? 0n) <= bigVersion + 1n,
        );
        const found = judge({ command, updates: stale, successor: {} });
        expect(['nothing', 'flagged']).toContain(found.kind);
      }),
      { numRuns: 1_000 },
    );
  });
});

/** The venue may take an order, or refuse it, after it is there; and nothing else is open. */
const mayBecome: Readonly<Record<Verdict['result'], readonly string[]>> = {
  accepted: ['accepted', 'rejected', 'applied'],
  rejected: ['rejected', 'applied'],
  applied: ['applied'],
  moot: ['moot'],
  conflict: ['conflict'],
};

function resultOf(found: Finding): string | undefined {
  return found.kind === 'verdict' ? found.result : undefined;
}
