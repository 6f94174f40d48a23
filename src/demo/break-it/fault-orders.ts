import type { FaultOrder } from '../../sandbox/faults/fault-shapes.ts';
import type { DemoSandbox } from '../stack/demo-sandbox.ts';
import { type FaultName, faultNames } from './shapes.ts';

/**
 * A stream fault: the order to the sandbox, and how many changes it has to meet before it is over.
 */
export interface StreamFaultOrder {
  readonly order: FaultOrder;
  readonly expected: number;
  /** It ends a connection, at once or a moment later. */
  readonly breaks?: boolean;
  /** The story's first line. `met`: connections or orders that the sandbox met at once. */
  readonly action: (met: number) => string;
  /** The last line; `harmed`: changes that met the fault, at least one. */
  readonly healed: (harmed: number) => string;
}

/** A write that ends in 504: whether the platform does it all the same. */
export interface WriteFaultOrder {
  readonly applied: 'yes' | 'no' | 'late';
  readonly delayMs?: number;
  readonly action: string;
}

/** Has equities and prediction orders. */
const predictionAccount = 'SIM-1001';
const repeats = 5;
const silent = 3;
const storeLostMs = 3_000;
/**
 * Later than the lookups by reference at 0.25, 0.5, 1 and 2 s: they miss the order and the reader
 * sees it.
 */
const lateMs = 4_500;

const changesAreHere = (harmed: number) =>
  harmed === 1 ? 'Whole again: the change is here.' : `Whole again: all ${harmed} changes are here.`;
const connections = (met: number) => (met === 1 ? 'One connection' : `${met} connections`);

export const streamFaults: Readonly<Partial<Record<FaultName, StreamFaultOrder>>> = {
  duplicate: {
    order: { rules: [{ on: 'event', fault: 'duplicate', times: repeats }] },
    expected: repeats,
    action: () => `The platform sends its next ${repeats} messages twice.`,
    healed: (harmed) => `Whole: ${harmed} messages came twice, and each change counts once.`,
  },
  reorder: {
    order: { rules: [{ on: 'event', fault: 'reorder', times: repeats }] },
    expected: repeats,
    action: () => `The platform holds back its next ${repeats} messages, so that later ones overtake them.`,
    healed: (harmed) => `Whole: ${harmed} messages came late, and every order has its newest state.`,
  },
  drop: {
    order: { rules: [{ on: 'event', fault: 'drop', times: 1 }] },
    expected: 1,
    action: () => 'The platform loses its next message, and breaks the connection a moment later.',
    breaks: true,
    healed: changesAreHere,
  },
  silent_loss: {
    order: { rules: [{ on: 'event', fault: 'silent_loss', times: silent }] },
    expected: silent,
    action: () =>
      `The platform loses its next ${silent} messages. The connection stays open, and nothing shows the loss.`,
    healed: changesAreHere,
  },
  cut: {
    order: { now: [{ action: 'cut', how: 'rst' }] },
    expected: 0,
    action: (met) => `${connections(met)} to the platform ended without a goodbye.`,
    breaks: true,
    healed: changesAreHere,
  },
  half_open: {
    order: { now: [{ action: 'half_open' }] },
    expected: 0,
    action: (met) => `${connections(met)} to the platform: still open, and silent from now on.`,
    healed: changesAreHere,
  },
  lost_store: {
    order: { now: [{ action: 'unknown_store_lost', accountId: predictionAccount, forMs: storeLostMs }] },
    expected: 1,
    action: (met) =>
      `The platform lost its store of the prediction orders of ${predictionAccount}: the versions of ${met} open orders begin again at 1.`,
    healed: (harmed) => `Whole again: all ${harmed} orders are confirmed, with their new numbers.`,
  },
};

/** Only prediction orders have versions, so no other store can lose them. */
export function faultsAt({ predictionSymbol }: Pick<DemoSandbox, 'predictionSymbol'>): readonly FaultName[] {
  return faultNames.filter((name) => name !== 'lost_store' || predictionSymbol !== undefined);
}

export const writeFaults: Readonly<Partial<Record<FaultName, WriteFaultOrder>>> = {
  landed: {
    applied: 'yes',
    action: 'The platform takes the next order, and answers 504: it says that it does not know.',
  },
  not_landed: { applied: 'no', action: 'The platform answers 504 to the next order, and never takes it.' },
  late_landing: {
    applied: 'late',
    delayMs: lateMs,
    action: `The platform answers 504 to the next order, and takes it ${lateMs / 1000} s later.`,
  },
};
