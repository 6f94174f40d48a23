import { systemClock } from '../src/runtime/clock.ts';
import type { Cleanup } from './cleanup.ts';
import { restingOrder, startCommandingService, tradedAccounts } from './commanding-service.ts';
import { loadAt, settle } from './measure-service.ts';
import { paced } from './paced.ts';
import { percentile } from './percentile.ts';
import { startSandboxProcess } from './sandbox-process.ts';
import type { Stack } from './stack.ts';
import { startTimingProxy } from './timing-proxy.ts';

export interface CommandFigures {
  readonly commandsPerSecond: number;
  readonly updatesPerSecond: number;
  readonly commands: number;
  /** Milliseconds from when the command was due at the caller to its answer there. */
  readonly total: Quantiles;
  /** Of it, what the platform took to answer. */
  readonly platform: Quantiles;
  /** Of each command the difference: journal, two commits, two sockets, and the stopwatch. */
  readonly own: Quantiles;
  /** Answers that were not an acceptance. 0, or the figures are of something else. */
  readonly notAccepted: number;
}

export interface Quantiles {
  readonly p50: number;
  readonly p99: number;
}

const commandsPerSecond = 100;
const streamRate = 1000;
/**
 * Half of the time: until then the service is still being
 * compiled, and that takes a core of its own.
 */
const warmUpShare = 0.5;

/**
 * Commands at a steady rate while the stream runs, through a stopwatch in front of the platform.
 */
export async function measureCommands(cleanup: Cleanup, stack: Stack, seconds: number): Promise<CommandFigures> {
  const sandbox = await startSandboxProcess(cleanup, { openOrders: 1000, knownOrders: 1000 });
  const [platform, staging] = await Promise.all([
    startTimingProxy(cleanup, sandbox.description.platform),
    startTimingProxy(cleanup, sandbox.description.staging),
  ]);
  const { service, rest } = await startCommandingService(cleanup, stack, sandbox, {
    part: 'commands',
    env: { PLATFORM_URL: platform.url, PLATFORM_STAGING_URL: staging.url },
  });
  const watched = { stack, sandbox, service };
  const accounts = tradedAccounts(sandbox);
  const totals: number[] = [];
  const platforms: number[] = [];
  const owns: number[] = [];
  const warmUp = commandsPerSecond * seconds * warmUpShare;
  let notAccepted = 0;
  const place = async (index: number, dueMs: number) => {
    const { path, body } = restingOrder(accounts, index);
    const { status, text } = await rest.command('POST', path, body);
    const totalMs = performance.now() - dueMs;
    const reference = status === 200 ? referenceOf(text) : undefined;
    const platformMs = reference && (platform.answerMs(reference) ?? staging.answerMs(reference));
    if (platformMs === undefined || platformMs === '') notAccepted += 1;
    else if (index >= warmUp) {
      totals.push(totalMs);
      platforms.push(platformMs);
      owns.push(totalMs - platformMs);
    }
  };
  await sandbox.setRate(streamRate);
  await systemClock.sleep(3000);
  const load = loadAt(watched, streamRate, seconds);
  await paced({ perSecond: commandsPerSecond, seconds: seconds + 3 }, place);
  const { publishedPerSecond } = await load;
  await settle(watched);
  await service.stop();
  await sandbox.stop();
  return {
    commandsPerSecond,
    updatesPerSecond: publishedPerSecond,
    commands: totals.length,
    total: quantilesOf(totals),
    platform: quantilesOf(platforms),
    own: quantilesOf(owns),
    notAccepted,
  };
}

/** The id of the attempt that was sent last: what the platform knows the order by. */
function referenceOf(text: string): string | undefined {
  const { outcome, attempts } = JSON.parse(text) as { outcome: string; attempts: readonly { attemptId: string }[] };
  return outcome === 'accepted' || outcome === 'applied' ? attempts.at(-1)?.attemptId : undefined;
}

function quantilesOf(values: readonly number[]): Quantiles {
  const of = (q: number) => Math.round(percentile(values, q) * 100) / 100;
  return { p50: of(0.5), p99: of(0.99) };
}
