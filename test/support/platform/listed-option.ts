import { systemClock } from '../../../src/runtime/clock.ts';
import { contractsAround } from '../../../src/sandbox/data/option-contracts.ts';
import { newYorkDay } from '../../../src/sandbox/data/trading-days.ts';

/** The compact OCC symbol of an option on AAPL that has not expired, whenever the test runs. */
export function listedOption(right: 'C' | 'P', strikeDollars: number): string {
  const [nearest] = contractsAround('AAPL', strikeDollars * 100, newYorkDay(systemClock.nowMs()));
  if (nearest === undefined) throw new Error('nothing is listed');
  return `${nearest.symbol.slice(0, -9)}${right}${String(strikeDollars * 1000).padStart(8, '0')}`;
}
