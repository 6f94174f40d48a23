import { expect, onTestFinished } from 'vitest';
import type { Stream } from '../../../src/domain/order.ts';
import type { Logger } from '../../../src/observability/logger.ts';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { ByteBudget } from '../../../src/runtime/byte-budget.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { Connectors, type ConnectorsOptions } from '../../../src/service/sources/connectors.ts';
import type { AccountState } from '../../../src/service/sources/source-status.ts';
import { platformVenue } from '../../../src/venue/platform/platform-venue.ts';
import type { Venue } from '../../../src/venue/venue.ts';
import { ScriptedPlatform } from '../platform/scripted-platform.ts';
import { ScriptedRegistry } from '../platform/scripted-registry.ts';
import { testLog } from '../runs/test-log.ts';
import { VirtualClock } from '../runs/virtual-clock.ts';
import { ScriptedSink } from './scripted-sink.ts';

/** The real connectors on a virtual clock, between a platform, a registry and a sink in memory. */
export function connectorsRig(
  options: Partial<ConnectorsOptions> = {},
  budget = new ByteBudget({ maxBytes: 64_000_000 }),
  log: Logger = testLog.child({}, { level: process.env['LOG_LEVEL'] ?? 'silent' }),
  venue: Venue = platformVenue,
) {
  const clock = new VirtualClock();
  const platform = new ScriptedPlatform(clock);
  platform.accounts = [{ accountId: 'acct-1', isOpen: true, isSim: true }];
  const registry = new ScriptedRegistry();
  const sink = new ScriptedSink();
  const metrics = createMetrics().source;
  const connectors = new Connectors(
    {
      clock,
      random: seededRandom(7),
      registry,
      sink,
      metrics,
      log,
      openSocket: platform.openSocket,
      budget,
    },
    { streamUrls: { account: 'ws://account', prediction: 'ws://prediction' }, ...options },
  );
  connectors.add('client', { venue, reads: platform, tokens: platform, log });
  const account = (stream: Stream, accountId: string) =>
    connectors
      .status()
      .find((source) => source.stream === stream)
      ?.accounts.find((each) => each.accountId === accountId);
  const state = (stream: Stream, accountId = 'acct-1'): AccountState | undefined => account(stream, accountId)?.state;
  const until = async (stream: Stream, wanted: AccountState, accountId = 'acct-1', limitMs = 120_000) => {
    if (await clock.advanceUntil(() => state(stream, accountId) === wanted, limitMs)) return;
    throw new Error(
      `${stream}:${accountId} is ${state(stream, accountId)}, not ${wanted}: ${account(stream, accountId)?.lastError}`,
    );
  };
  /** The newest open socket of the stream. */
  const socket = (stream: Stream) => {
    const found = platform.live.findLast(({ url }) => url === `ws://${stream}`);
    if (found === undefined) throw new Error(`no open socket of ${stream}`);
    return found;
  };
  /** Begins; the connectors end with the test, and nothing of them may run on. */
  const begin = async () => {
    await connectors.begin();
    onTestFinished(async () => {
      await connectors.end();
      expect(clock.armed).toBe(0);
    });
  };
  return { clock, platform, registry, sink, metrics, connectors, begin, account, state, until, socket };
}

/** The rig at work, with its account live on both streams. */
export async function liveConnectors() {
  const rig = connectorsRig();
  await rig.begin();
  await rig.until('account', 'live');
  await rig.until('prediction', 'live');
  return rig;
}
