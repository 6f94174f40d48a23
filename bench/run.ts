/**
 * `npm run bench`: the bare write path, bare kafkajs, the whole service from socket to
 * acknowledgement, and the naive service, in one run on one machine with full durability, so that
 * their ratios mean something. docs/performance.md says how to read it.
 */
import { writeFileSync } from 'node:fs';
import { type Arguments, readArguments, usage } from './arguments.ts';
import { Cleanup } from './cleanup.ts';
import { helpCpuSeconds } from './help-cost.ts';
import { describeMachine } from './machine.ts';
import { measureAsUsers } from './measure-as-users.ts';
import { type BareFigures, measureBare } from './measure-bare.ts';
import { measureCommands } from './measure-commands.ts';
import { measureConsoles } from './measure-consoles.ts';
import { measureIdle } from './measure-idle.ts';
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
import { readStoredSizes } from './service-process.ts';
import { type Stack, startStack } from './stack.ts';
import { openOrders, withService } from './with-service.ts';

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
    // As long as the service: in ten seconds the disk has not yet begun to write back what a minute
    // of them leaves (43k rows/s against 33k).
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
  const knownOrders =
    many === undefined ? undefined : await measureKnownOrders(cleanup, stack, real, { many, seconds: 20 });
  const commandSide = await measureCommandSide(stack, args, say);
  if (args.only.has('consoles')) say('open consoles');
  const consoles = args.only.has('consoles') ? await measureConsoles(cleanup, stack, probeSeconds) : undefined;
  if (args.only.has('idle')) say('accounts at rest');
  const idle = args.only.has('idle') ? await measureIdle(cleanup, stack) : undefined;
  if (args.only.has('profile')) say('profile');
  const profile = args.only.has('profile') ? await measureProfile(cleanup, stack, 20) : undefined;
  const asUsers = await measureAsUsers(cleanup, stack, { only: args.only, real, payloadBytes, say });
  return {
    at: new Date().toISOString(),
    command: `npm run bench -- ${process.argv.slice(2).join(' ')}`.trim(),
    machine,
    settings: { 'open orders': openOrders, acks: 'all', 'sustained for s': args.seconds },
    liveAfterMs,
    helpCpuSeconds: helpCpuSeconds(),
    payloadBytes,
    ...whole,
    ...(before === undefined ? {} : { bare: joined(before, after) }),
    ...(naive === undefined ? {} : { naive }),
    ...(knownOrders === undefined ? {} : { knownOrders }),
    ...(profile === undefined ? {} : { profile }),
    ...(consoles === undefined ? {} : { consoles }),
    ...(idle === undefined ? {} : { idle }),
    ...commandSide,
    ...asUsers,
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
  return withService(cleanup, stack, { part: 'start' }, async (watched) => {
    await loadAt(watched, 2000, 5);
    await settle(watched);
    const { databaseUrl, liveAfterMs } = watched.service;
    const real = await readRealRows(databaseUrl);
    const { payloadBytes } = await readStoredSizes(databaseUrl);
    return { real, liveAfterMs, payloadBytes };
  });
}

async function measureWhole(stack: Stack, { only, seconds }: Arguments): Promise<Pick<Report, 'latency' | 'capacity'>> {
  const latency: LatencyFigures[] = [];
  if (only.has('latency')) {
    await withService(cleanup, stack, { part: 'latency' }, async (watched) => {
      for (const rate of latencyRates) latency.push(await measureLatency(watched, rate, latencySeconds));
    });
  }
  const capacity = only.has('service')
    ? await withService(cleanup, stack, { part: 'service' }, (watched) =>
        measureCapacity(watched, { seconds, probeSeconds }),
      )
    : undefined;
  return { ...(latency.length === 0 ? {} : { latency }), ...(capacity === undefined ? {} : { capacity }) };
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
