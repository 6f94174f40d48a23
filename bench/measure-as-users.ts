import type { Part } from './arguments.ts';
import type { Cleanup } from './cleanup.ts';
import { type AccountsFigures, measureAccounts } from './measure-accounts.ts';
import { type AloneFigures, measureAlone } from './measure-alone.ts';
import { type DebeziumFigures, measureDebezium } from './measure-debezium.ts';
import { type DistanceFigures, measureDistance } from './measure-distance.ts';
import { measurePayloads, type PayloadFigures } from './measure-payloads.ts';
import { measureShards, type ShardsFigures } from './measure-shards.ts';
import { measureStalls, type StallFigures } from './measure-stalls.ts';
import { measureTwoProcesses, type TwoProcessesFigures } from './measure-two-processes.ts';
import type { RealRows } from './real-rows.ts';
import type { Stack } from './stack.ts';

/**
 * What users ask for beside the rate: what it costs, what stops
 * it, and what other surroundings do to it.
 */
export interface AsUsersFigures {
  readonly stalls?: readonly StallFigures[];
  readonly alone?: readonly AloneFigures[];
  readonly distance?: readonly DistanceFigures[];
  readonly payloads?: readonly PayloadFigures[];
  readonly accounts?: AccountsFigures;
  readonly shards?: readonly ShardsFigures[];
  readonly 'two-processes'?: TwoProcessesFigures;
  readonly debezium?: DebeziumFigures;
}

interface Surroundings {
  readonly only: ReadonlySet<Part>;
  readonly real: RealRows;
  readonly payloadBytes: number;
  readonly say: (what: string) => void;
}

export async function measureAsUsers(
  cleanup: Cleanup,
  stack: Stack,
  { only, real, payloadBytes, say }: Surroundings,
): Promise<AsUsersFigures> {
  const parts: { readonly [K in keyof AsUsersFigures]-?: () => Promise<AsUsersFigures[K]> } = {
    stalls: () => measureStalls(cleanup, stack, { rates: [1000, 5000], seconds: 20 }),
    alone: () => measureAlone(cleanup, stack, { rates: [1000, 5000, 10_000], seconds: 10 }),
    distance: () => measureDistance(cleanup, stack, { addedMs: [1, 10], seconds: 5 }),
    payloads: () =>
      measurePayloads(cleanup, stack, real, { sizes: [300, 1200, 4000], ownBytes: payloadBytes, seconds: 5 }),
    accounts: () => measureAccounts(cleanup, stack, { accounts: 1000, seconds: 5 }),
    shards: () => measureShards(cleanup, stack, { seconds: 20 }),
    'two-processes': () => measureTwoProcesses(cleanup, stack, { seconds: 20 }),
    debezium: () => measureDebezium(cleanup, stack, real, 10),
  };
  const found: Record<string, unknown> = {};
  for (const [part, measure] of Object.entries(parts)) {
    if (!only.has(part as Part)) continue;
    say(part);
    found[part] = await measure();
  }
  return found as AsUsersFigures;
}
