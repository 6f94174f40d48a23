import type { Config } from '../../config/config.ts';
import type { Stream } from '../../domain/order.ts';
import { present } from '../../domain/present.ts';
import { type WriteAddresses, writeOrder } from '../../venue/platform/order-writes.ts';
import { SocketWriteLines } from '../../venue/platform/socket-write-lines.ts';
import type { WriteDeps } from '../../venue/write-venue.ts';
import { type CommandOptions, commandDefaults } from '../commands/command-options.ts';
import { CommandService } from '../commands/command-service.ts';
import type { OrderEntry } from '../commands/order-entry.ts';
import { ResultRelay } from '../log/result-relay.ts';
import { EntryByStream, VenueOrderEntry } from './order-entry.ts';
import { type PlatformConfig, platformConfig } from './platform-parts.ts';
import { noQuotes, PlatformQuotes } from './platform-quotes.ts';
import { RepairWorker } from './repair-worker.ts';
import type { Flowing } from './update-parts.ts';

export interface Commanding extends Flowing {
  readonly commands: ReturnType<typeof commandParts>;
}

/**
 * The command side with its way to the platform, the relay for the steps of commands, and requested
 * repairs. Made also when commands are off: earlier commands are still resolved.
 */
export function commandParts({ store, outside, kafka, way, watches, ...made }: Flowing, config: Config) {
  const { clock, random, log, metrics, lease, tracing } = made;
  const shared = { clock, random, log, lease, tracing };
  const { sources: accounts, ingest, held, checkpoint } = way;
  const platform = platformConfig(config);
  const toPlatform = { accounts: way.platformSources, clock, random, log, metrics: metrics.platform };
  const lines = new SocketWriteLines({ clock, proxies: outside.proxies });
  const entry = new EntryByStream(entriesOf(way, { clock, lines, metrics: metrics.platform }, platform));
  const results = new ResultRelay({
    ...shared,
    checkpoint,
    logger: log,
    log: store.results,
    metrics: metrics.relay,
    shards: () => held.shards,
    publisher: kafka.resultPublisher,
    isEmpty: () => store.changes.isNone('results'),
  });
  const service = new CommandService(
    {
      ...shared,
      journal: store.journal,
      entry,
      accounts,
      metrics: metrics.commands,
      // Holders of one shard judge by it what earlier ones wrote down.
      clock: watches.sharedClock,
      quotes: platform === undefined ? noQuotes : new PlatformQuotes({ ...toPlatform, http: outside.http }, platform),
      // Before the shards are known, none is held, and commands are declined with any number.
      shardOf: (accountId) => held.shardOf(accountId) ?? 0,
      part: () => held.part,
      noticeLost: store.noticeLost,
      haltChanges: store.changes.readerOf('halts'),
      onStep: () => results.wake(),
    },
    commandOptions(config),
  );
  const { pool, changes } = store;
  const isIdle = () => changes.isNone('repairs');
  const forgetOrders = (accountId: string) => ingest.forgetOrders((of) => of === accountId);
  const repairs = new RepairWorker({ clock, log, pool, accounts, forgetOrders, metrics: metrics.ingest, isIdle });
  return { service, results, repairs };
}

/** By stream: the venue that takes its writes. */
function entriesOf(
  { platformSources, keyed }: Flowing['way'],
  deps: Omit<WriteDeps, 'tokens'>,
  platform: PlatformConfig | undefined,
): Map<Stream, OrderEntry> {
  const entries = new Map<Stream, OrderEntry>();
  if (platform !== undefined) {
    const entry = new VenueOrderEntry({ ...deps, accounts: platformSources }, writeAddresses(platform), writeOrder);
    for (const stream of platformSources.streams) entries.set(stream, entry);
  }
  for (const venue of keyed)
    entries.set(venue.stream, new VenueOrderEntry({ ...deps, accounts: venue.sources }, venue, venue.write));
  return entries;
}

function writeAddresses({ platformUrl, platformStagingUrl: stagingUrl }: PlatformConfig): WriteAddresses {
  return present({ platformUrl, stagingUrl });
}

/** The settings as options of the command side; an option without a setting keeps its default. */
export function commandOptions(config: Config): CommandOptions {
  return {
    ...commandDefaults,
    fourEyes: config.fourEyes === 'on',
    enabled: config.commands === 'on',
    accounts: config.commandAccounts ?? [],
    callerRefOnce: config.callerRef === 'unique',
    needsLive: config.commandNeedsLive === 'on',
    deadlineMs: config.commandDeadlineMs,
    rate: { perSecond: config.commandRate, burst: config.commandBurst },
    cancelRate: { perSecond: config.cancelRate, burst: config.cancelBurst },
    breaker: { count: config.breakerCommands, windowMs: config.breakerWindowMs },
    haltAt: { account: config.haltUnresolvedAccount, service: config.haltUnresolvedService },
    probes: { perSecond: config.probeRate, burst: config.probeBurst },
  };
}
