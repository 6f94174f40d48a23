/**
 * `npm run bench`: the bare write path, bare kafkajs, the whole service from socket to
 * acknowledgement, and the naive service, in one run on one machine with full durability, so that
 * their ratios mean something; with `--vs REF`, another commit's service in turn with this one.
 * docs/performance.md says how to read it.
 */
import { writeFileSync } from 'node:fs';
import { type Arguments, readArguments, usage } from './arguments.ts';
import { type Build, checkOut, here, inTurns } from './build.ts';
import { Cleanup } from './cleanup.ts';
import type { Bench } from './figure.ts';
import { describeMachine } from './machine.ts';
import { loadAt, settle } from './measure-service.ts';
import { groundParts, type Part, partNames, parts } from './parts.ts';
import { readRealRows } from './real-rows.ts';
import { printReport, type Report, sectionsOf, type Turn } from './report.ts';
import { startStack } from './stack.ts';
import { openOrders, withService } from './with-service.ts';

const cleanup = new Cleanup();
cleanup.onSignals();

async function measure({ only, seconds, vs }: Arguments, keep: (report: Report) => void): Promise<Report> {
  const builds = [here, ...(vs === undefined ? [] : [checkOut(cleanup, vs)])];
  const stack = await startStack(cleanup);
  const bench = { cleanup, stack, build: here, seconds, real: { rows: [], records: [] } };
  const machine = await describeMachine(stack);
  const planned = planOf(only, builds);
  const needsRows = planned.some(({ part }) => groundParts.includes(part));
  if (needsRows) say('a sample of real payloads');
  const real = needsRows ? await sampleRows(bench) : bench.real;
  const turns: Turn[] = [];
  const report = {
    at: new Date().toISOString(),
    command: `npm run bench -- ${process.argv.slice(2).join(' ')}`.trim(),
    machine,
    settings: { 'open orders': openOrders, acks: 'all', 'sustained for s': seconds },
    builds: builds.map(({ name }) => name),
    turns,
  };
  for (const { part, build } of planned) {
    say(builds.length > 1 ? `${parts[part].title}, ${build.name}` : parts[part].title);
    turns.push({ part, build: build.name, ...(await turnOf(part, { ...bench, real, build })) });
    keep(report);
  }
  return report;
}

/** The ground twice, before and after what is measured against it. */
function planOf(only: ReadonlySet<Part>, builds: readonly Build[]): { readonly part: Part; readonly build: Build }[] {
  const once = partNames.filter((part) => only.has(part));
  const again = only.has('service') ? groundParts.filter((part) => only.has(part)) : [];
  return [...once, ...again].flatMap((part) =>
    inTurns(parts[part].ofEachBuild ? builds : [here]).map((build) => ({ part, build })),
  );
}

/** With processes and folders of its own. One that fails takes only its own figures with it. */
async function turnOf(part: Part, bench: Bench): Promise<Pick<Turn, 'figures' | 'failed'>> {
  const own = new Cleanup();
  const end = cleanup.add(() => own.run());
  try {
    return { figures: await parts[part].measure({ ...bench, cleanup: own }) };
  } catch (error) {
    process.exitCode = 1;
    return { figures: [], failed: error instanceof Error ? error.message : String(error) };
  } finally {
    await end();
  }
}

async function sampleRows(bench: Bench): Promise<Bench['real']> {
  return withService(bench, { part: 'sample' }, async (watched) => {
    await loadAt(watched, 2000, 5);
    await settle(watched);
    return readRealRows(watched.service.databaseUrl);
  });
}

function say(what: string): void {
  console.error(`${new Date().toISOString().slice(11, 19)} ${what}`);
}

try {
  const args = readArguments(process.argv.slice(2));
  if (args === 'help') {
    console.log(usage);
  } else {
    // After each turn: a run that is ended keeps what it has.
    const report = await measure(args, (so) => {
      if (args.json === undefined) return;
      writeFileSync(args.json, `${JSON.stringify({ ...so, means: sectionsOf(so) }, undefined, 2)}\n`);
    });
    console.log(printReport(report));
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  await cleanup.run();
}
