import type { Config } from '../../config/config.ts';
import type { Log } from '../../observability/log.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Tracing } from '../../observability/tracing.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Lease } from '../../runtime/lease.ts';
import type { Proxies } from '../../runtime/proxies.ts';
import type { Random } from '../../runtime/random.ts';
import type { Http } from '../../venue/platform/http.ts';
import { SocketWriteLines } from '../../venue/platform/socket-write-lines.ts';
import { type CommandOptions, commandDefaults } from '../commands/command-options.ts';
import { ShardDesks } from '../commands/shard-desks.ts';
import { OutcomeRelay } from '../log/outcome-relay.ts';
import type { Publisher } from '../log/publisher.ts';
import type { WitnessWriter } from '../log/witness-writer.ts';
import type { FollowedAccounts } from '../sources/account-access.ts';
import { PlatformOrderEntry } from './order-entry.ts';
import type { EntryAccounts, PlatformConfig } from './platform-parts.ts';
import { PlatformQuotes } from './platform-quotes.ts';
import type { storeParts } from './store-parts.ts';

interface CommandPartsDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly lease: Lease;
  readonly store: Pick<ReturnType<typeof storeParts>, 'journal' | 'outcomes'>;
  readonly accounts: EntryAccounts & FollowedAccounts;
  readonly http: Http;
  readonly proxies: Proxies;
  /** A separate publisher, since each takes one send at a time. */
  readonly publisher: Publisher;
  readonly witness?: Pick<WitnessWriter, 'cover'>;
  /** The shard of an account. */
  readonly shardOf: (accountId: string) => number;
  /** Those that this process holds, and how much of all it is, from 0 to 1. */
  readonly held: { readonly shards: readonly number[]; readonly part: number };
  readonly tracing?: Tracing | undefined;
}

/**
 * The command side: the desks, with their way to the platform, and the relay of its steps. Made also when commands are off: those that were sent
 * before they were turned off are still settled.
 */
export function commandParts(
  { store, accounts, http, proxies, publisher, witness, shardOf, held, ...shared }: CommandPartsDeps,
  config: PlatformConfig,
) {
  const { clock, random, log, metrics, lease, tracing } = shared;
  const entry = new PlatformOrderEntry(
    { accounts, lines: new SocketWriteLines({ clock, proxies }), clock, metrics: metrics.platform },
    {
      platformUrl: config.platformUrl,
      ...(config.platformStagingUrl !== undefined && { stagingUrl: config.platformStagingUrl }),
    },
  );
  const outcomes = new OutcomeRelay({
    log: store.outcomes,
    shards: () => held.shards,
    publisher,
    ...(witness && { witness }),
    lease,
    clock,
    random,
    logger: log,
    metrics: metrics.relay,
    tracing,
  });
  const desk = new ShardDesks(
    {
      journal: store.journal,
      entry,
      accounts,
      quotes: new PlatformQuotes(
        { accounts, http, clock, random, metrics: metrics.platform, log },
        { platformUrl: config.platformUrl },
      ),
      shardOf,
      part: () => held.part,
      lease,
      clock,
      random,
      log,
      metrics: metrics.commands,
      onStep: () => outcomes.wake(),
      tracing,
    },
    commandOptions(config),
  );
  return { desk, outcomes };
}

/** The settings as options of the desks; an option without a setting keeps its default. */
export function commandOptions(config: Config): CommandOptions {
  return {
    ...commandDefaults,
    fourEyes: config.fourEyes === 'on',
    enabled: config.commands === 'on',
    accounts: config.commandAccounts ?? [],
    callerRefOnce: config.callerRef === 'unique',
    needsLive: config.commandNeedsLive === 'on',
    deadlineMs: config.commandDeadlineMs,
    leaseExpireMs: config.leaseExpireMs,
    rate: { perSecond: config.commandRate, burst: config.commandBurst },
    cancelRate: { perSecond: config.cancelRate, burst: config.cancelBurst },
    breaker: { count: config.breakerCommands, windowMs: config.breakerWindowMs },
    haltAt: { account: config.haltUnresolvedAccount, service: config.haltUnresolvedService },
    probes: { perSecond: config.probeRate, burst: config.probeBurst },
  };
}
