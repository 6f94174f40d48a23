/**
 * `npm run bench`: the bare write path, bare kafkajs, the whole service from socket to acknowledgement, and the naive service, in one run on one machine
 * with full durability, so that their ratios mean something. docs/performance.md says how to read it.
 */
import { writeFileSync } from 'node:fs';
import { type Arguments, readArguments, usage } from './arguments.ts';
import { Cleanup } from './cleanup.ts';
import { describeMachine } from './machine.ts';
import { type BareFigures, measureBare } from './measure-bare.ts';
import { measureCommands } from './measure-commands.ts';
import { measureConsoles } from './measure-consoles.ts';
import { measureKnownOrders } from './measure-known-orders.ts';
import { type LatencyFigures, measureLatency } from './measure-latency.ts';
import { measureNaive } from './measure-naive.ts';
import { measureProfile } from './measure-profile.ts';
import { measureReadPressure } from './measure-read-pressure.ts';
import { measureReconcile } from './measure-reconcile.ts';
import { measureRest } from './measure-rest.ts';
import { loadAt, measureCapacity, settle } from './measure-service.ts';
import { measureStreamCost } from './measure-stream-cost.ts';
import { printReport } from './print-report.ts';
import { type RealRows, readRealRows } from './real-rows.ts';
import { judge, type Report } from './report.ts';
import { startSandboxProcess } from './sandbox-process.ts';
import { readStoredSizes, startServiceProcess } from './service-process.ts';
import { type Stack, startStack } from './stack.ts';
import type { Watched } from './watch-load.ts';

/** Orders that the market moves at a time; each change is one of a random one of them. */
const openOrders = 1000;
const latencyRates = [1000, 5000];
const latencySeconds = 30;
const probeSeconds = 10;

const cleanup = new Cleanup();
cleanup.onSignals();

async function measure(args: Arguments): Promise<Report> {
  const say = (what: string) => console.error(`${new Date().toISOString().slice(11, 19)} ${what}`);
  const stack = await startStack(cleanup);
  const machine = await describeMachine(stack);
  say('start to live on an empty database, and a sample of real payloads');
  const { real, liveAfterMs, payloadBytes } = await measureStart(stack);
  const wantsBare = args.only.has('write') || args.only.has('kafka');
  const bare = async () => {
    say('bare paths');
    // As long as the service: in ten seconds the disk has not yet begun to write back what a minute of them leaves (43k rows/s against 33k).
    return measureBare(stack, real, args.seconds);
  };
  const before = wantsBare ? await bare() : undefined;
  say('the whole service');
  const whole = await measureWhole(stack, args);
  const after = wantsBare && args.only.has('service') ? await bare() : undefined;
  if (args.only.has('naive')) say('the naive service');
  const naive = args.only.has('naive') ? await measureNaive(cleanup, stack, 20) : undefined;
  const { knownOrders: many } = args;
  if (many !== undefined) say(`known orders: 1,000 and ${many}`);
  const knownOrders = many === undefined ? undefined : await measureKnownOrders(cleanup, stack, real, { many, seconds: 20 });
  const commandSide = await measureCommandSide(stack, args, say);
  if (args.only.has('consoles')) say('open consoles');
  const consoles = args.only.has('consoles') ? await measureConsoles(cleanup, stack, probeSeconds) : undefined;
  if (args.only.has('profile')) say('profile');
  const profile = args.only.has('profile') ? await measureProfile(cleanup, stack, 20) : undefined;
  return {
    at: new Date().toISOString(),
    command: `npm run bench -- ${process.argv.slice(2).join(' ')}`.trim(),
    machine,
    settings: { 'open orders': openOrders, acks: 'all', 'sustained for s': args.seconds },
    liveAfterMs,
    payloadBytes,
    ...whole,
    ...(before === undefined ? {} : { bare: joined(before, after) }),
    ...(naive === undefined ? {} : { naive }),
    ...(knownOrders === undefined ? {} : { knownOrders }),
    ...(profile === undefined ? {} : { profile }),
    ...(consoles === undefined ? {} : { consoles }),
    ...commandSide,
  };
}

async function measureCommandSide(
  stack: Stack,
  { only }: Arguments,
  say: (what: string) => void,
): Promise<Pick<Report, 'commands' | 'rest' | 'pressure' | 'reconcile' | 'streamCost'>> {
  if (only.has('commands')) say('commands beside the stream');
  const commands = only.has('commands') ? await measureCommands(cleanup, stack, latencySeconds) : undefined;
  if (only.has('rest')) say('reads by REST');
  const rest = only.has('rest') ? await measureRest(cleanup, stack, probeSeconds) : undefined;
  if (only.has('pressure')) say('cancels beside reads');
  const pressure = only.has('pressure') ? await measureReadPressure(cleanup, stack, probeSeconds) : undefined;
  const measured = {
    ...(commands === undefined ? {} : { commands }),
    ...(rest === undefined ? {} : { rest }),
    ...(pressure === undefined ? {} : { pressure }),
  };
  if (!only.has('reconcile')) return measured;
  say('a thousand unknown commands');
  const reconcile = await measureReconcile(cleanup, stack);
  say('the stream with and without commands');
  const streamCost = await measureStreamCost(cleanup, stack, probeSeconds);
  return { reconcile, streamCost, ...measured };
}

async function measureStart(stack: Stack): Promise<{ real: RealRows; liveAfterMs: number; payloadBytes: number }> {
  const sandbox = await startSandboxProcess(cleanup, { openOrders, knownOrders: openOrders });
  const service = await startServiceProcess(cleanup, stack, sandbox, { part: 'start' });
  const watched = { stack, sandbox, service };
  await loadAt(watched, 2000, 5);
  await settle(watched);
  const real = await readRealRows(service.databaseUrl);
  const { payloadBytes } = await readStoredSizes(service.databaseUrl);
  await service.stop();
  await sandbox.stop();
  return { real, liveAfterMs: service.liveAfterMs, payloadBytes };
}

async function measureWhole(stack: Stack, { only, seconds }: Arguments): Promise<Pick<Report, 'latency' | 'capacity'>> {
  const latency: LatencyFigures[] = [];
  if (only.has('latency')) {
    await withService(stack, 'latency', async (watched) => {
      for (const rate of latencyRates) latency.push(await measureLatency(watched, rate, latencySeconds));
    });
  }
  const capacity = only.has('service')
    ? await withService(stack, 'service', (watched) => measureCapacity(watched, { seconds, probeSeconds }))
    : undefined;
  return { ...(latency.length === 0 ? {} : { latency }), ...(capacity === undefined ? {} : { capacity }) };
}

/** A platform, a database, topics and a service of its own for each part: none pays for the history of another. */
async function withService<T>(stack: Stack, part: string, work: (watched: Watched) => Promise<T>): Promise<T> {
  const sandbox = await startSandboxProcess(cleanup, { openOrders, knownOrders: openOrders });
  const service = await startServiceProcess(cleanup, stack, sandbox, { part });
  const result = await work({ stack, sandbox, service });
  await service.stop();
  await sandbox.stop();
  return result;
}

function joined(before: BareFigures, after: BareFigures | undefined): BareFigures {
  return { write: [...before.write, ...(after?.write ?? [])], kafka: [...before.kafka, ...(after?.kafka ?? [])] };
}

try {
  const args = readArguments(process.argv.slice(2));
  if (args === 'help') {
    console.log(usage);
  } else {
    const report = await measure(args);
    if (args.json !== undefined) {
      writeFileSync(args.json, `${JSON.stringify({ ...report, verdicts: judge(report) }, undefined, 2)}\n`);
    }
    console.log(printReport(report));
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  await cleanup.run();
}
