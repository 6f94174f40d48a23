import type { FitnessRules } from '../../src/domain/judge-fitness.ts';
import type { Random } from '../../src/runtime/random.ts';
import { below, happens, oneOf } from '../../src/sandbox/market/instruments.ts';
import { type CommandOptions, commandDefaults } from '../../src/service/commands/command-options.ts';
import { type ShardKeeper, shardKeeperDefaults } from '../../src/service/fleet/shard-keeper.ts';
import { type RelayOptions, relayDefaults } from '../../src/service/log/relay-options.ts';
import type { IngestOptions } from '../../src/service/orders/ingest-deps.ts';
import type { StreamTimings } from '../../src/service/sources/stream-timings.ts';

/**
 * The settings of a service in a run: small bounds, so that few orders reach them, and short
 * intervals, so that a run is short.
 */
export interface ServiceSettings {
  readonly ingest: IngestOptions;
  readonly relay: RelayOptions;
  readonly timings: Partial<StreamTimings>;
  readonly accountsEveryMs: number;
  readonly commands: CommandOptions;
  readonly shards: Omit<ConstructorParameters<typeof ShardKeeper>[1], 'expireAfterMs' | 'holder'>;
  readonly fitness: FitnessRules;
  readonly lease: { readonly actMs: number; readonly renewMs: number; readonly expireMs: number };
}

export function drawSettings(random: Random): ServiceSettings {
  return {
    ingest: {
      queueMaxCount: oneOf(random, [8, 30, 200, 20_000]),
      queueMaxBytes: oneOf(random, [20_000, 32_000_000]),
      batchMaxCount: oneOf(random, [1, 3, 10, 500]),
      headCacheCount: oneOf(random, [1, 5, 50, 100_000]),
    },
    relay: {
      ...relayDefaults,
      maxRows: oneOf(random, [1, 4, 20, 1000]),
      maxHeldBatches: oneOf(random, [1, 5, 1000]),
      saveEveryMs: oneOf(random, [100, 250, 1000]),
      sweepEveryMs: oneOf(random, [1000, 5000]),
      states: {
        ...relayDefaults.states,
        flushEveryMs: oneOf(random, [200, 1000]),
        maxLookedAt: oneOf(random, [3, 20, 5000]),
      },
    },
    timings: {
      auditMs: 3_000 + below(random, 9_000),
      heartbeatMs: 3_000 + below(random, 12_000),
      notEnrolledMs: 20_000,
      refusedMs: 5_000,
      reconnectMaxMs: 5_000,
    },
    accountsEveryMs: 5_000,
    lease: { actMs: 3_000, renewMs: 2_000, expireMs: 6_000 },
    commands: drawCommandOptions(random),
    fitness: {
      troubledForMs: 2_000,
      firstCoolDownMs: 2_000,
      mostCoolDownMs: 8_000,
      forgetMs: 60_000,
      proofForMs: 2_000,
    },
    shards: {
      ...shardKeeperDefaults,
      giveEveryMs: oneOf(random, [500, 2_000, 5_000]),
      steadyMs: oneOf(random, [0, 2_000, 10_000]),
    },
  };
}

function drawCommandOptions(random: Random): CommandOptions {
  return {
    ...commandDefaults,
    enabled: true,
    accounts: [],
    needsLive: happens(random, 0.7),
    deadlineMs: oneOf(random, [1_000, 4_000, 10_000]),
    rate: oneOf(random, [commandDefaults.rate, { perSecond: 1, burst: 3 }]),
    breaker: oneOf(random, [commandDefaults.breaker, commandDefaults.breaker, { count: 6, windowMs: 4_000 }]),
    haltAt: oneOf(random, [commandDefaults.haltAt, { account: 50, service: 100 }]),
    probes: oneOf(random, [commandDefaults.probes, { perSecond: 1, burst: 2 }]),
    maxWatched: oneOf(random, [60, 10_000, 10_000]),
    maxWaitingPerAccount: oneOf(random, [2, 200]),
    cancelAllWindow: oneOf(random, [1, 16]),
    sweepEveryMs: oneOf(random, [3_000, 15_000]),
  };
}

/** The same with room for many places at a steady pace: only people halt. */
export function unhurried(settings: ServiceSettings): ServiceSettings {
  const { breaker, maxWatched, maxWaitingPerAccount } = commandDefaults;
  const wide = { rate: { perSecond: 200, burst: 400 }, haltAt: { account: 1_000, service: 1_000 } };
  return { ...settings, commands: { ...settings.commands, ...wide, breaker, maxWatched, maxWaitingPerAccount } };
}
