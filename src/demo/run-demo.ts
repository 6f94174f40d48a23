import type { CliIo } from '../cli/io/io.ts';
import { commandLogger, readConfig } from '../cli/io/read-config.ts';
import { formatUpdate, parseUpdate } from '../cli/io/tail-records.ts';
import type { Logger } from '../observability/logger.ts';
import { plural } from '../runtime/plural.ts';
import { kafkaDefaults } from '../service/log/kafka-options.ts';
import { readTopic } from '../service/log/read-topic.ts';
import { BreakIt } from './break-it/break-it.ts';
import { BreakItServer } from './break-it/break-it-server.ts';
import type { ProofStep } from './break-it/shapes.ts';
import { DemoScreen } from './demo-screen.ts';
import { TopicCounts } from './proof/topic-counts.ts';
import { type DemoProof, proveWhenQuiet } from './prove-when-quiet.ts';
import { type CommandsShown, showCommands } from './show-commands.ts';
import { interruption, type Market } from './stack/start-parts.ts';
import { awaitLive, type DemoStack, startStack } from './start-stack.ts';

/** The options for `tidemark demo`, parsed. */
export interface DemoFlags extends Market {
  /** Absent: until it is interrupted. */
  readonly seconds?: number;
  readonly json?: true;
}

/** Lines printed a second at most: the rest is only counted. */
const shownPerSecond = 10;
/**
 * Long enough to see updates come, short enough that the commands are shown within a demo of 20 s.
 */
const marketFirstMs = 2500;
const liveWithinMs = 20_000;

/**
 * Starts everything, shows updates as a consumer reads them back from Kafka, and at the end
 * compares ledger, database and topic.
 */
export async function runDemo(io: CliIo, flags: DemoFlags): Promise<void> {
  const log = commandLogger(io, readConfig(io));
  const screen = new DemoScreen(io, flags.json ? 'stderr' : 'stdout');
  const say = (line: string) => screen.say(line);
  const interrupted = interruption(io, say);
  const { signal } = interrupted;
  const server = new BreakItServer();
  const breakItUrl = await server.open();
  const { rate } = flags;
  const stack = await startStack(io, log, { ...flags, breakItUrl, say, signal }).catch(async (error: unknown) => {
    await server.close();
    throw error;
  });
  const reading = new AbortController();
  const looking = new AbortController();
  const counts = new TopicCounts();
  const stage = { ours: false };
  const watched = new BreakIt({ io, log, stack, counts, ownCommands: () => stage.ours }, { rate });
  const run: Run = { io, log, stack, counts, screen, stage, watched };
  server.attach(watched);
  try {
    for (const line of addresses(stack, rate)) say(line);
    if (stack.brokers === undefined) say(`\nUpdates are not shown without Kafka.\n${stack.kafka}\n`);
    else if (!screen.hasStatus) say('\nUpdates, read back from Kafka:\n');
    const consumer = consume(run, reading.signal);
    let ended: number | undefined;
    void stack.service.exited.then((code) => {
      ended = code;
      interrupted.abort();
    });
    const status = showStatus(run, looking.signal);
    const [shown] = await Promise.all([
      showOnStage(run, signal),
      io.clock.sleep(flags.seconds === undefined ? 2_000_000_000 : flags.seconds * 1000, signal),
    ]);
    looking.abort();
    await status;
    if (ended !== undefined) throw stack.service.fault(`ended by itself with ${ended}`);
    await server.close();
    say('');
    const proof = await proveWhenQuiet({ io, log, stack, counts, onStep: tellSteps(screen) });
    report(io, flags, stack, { proof, shown }, say);
    reading.abort();
    await consumer;
  } finally {
    looking.abort();
    reading.abort();
    await server.close();
    await stack.stop();
  }
}

function addresses(stack: DemoStack, rate: number): string[] {
  const { restAddress, adminAddress, postgres, kafka, brokers, sandbox } = stack;
  return [
    `\nOpen      ${restAddress}/console\n`,
    `Postgres  ${postgres}`,
    `Kafka     ${brokers === undefined ? 'none' : kafka}`,
    `Sandbox   ${sandbox.address}, ${rate} changes a second, control port ${sandbox.control}`,
    `Service   ${adminAddress}/status  /metrics  /readyz`,
    `REST      ${restAddress}/docs  /v1/orders  /v1/commands  /v1/stream`,
  ];
}

interface Run {
  readonly io: CliIo;
  readonly log: Logger;
  readonly stack: DemoStack;
  readonly counts: TopicCounts;
  readonly screen: DemoScreen;
  readonly watched: BreakIt;
  /** While the commands run, only updates of their orders are shown. */
  readonly stage: { ours: boolean };
}

const stepWords: Readonly<Record<ProofStep, string>> = {
  quiet: 'comparing: the market is stopped …',
  arriving: 'comparing: what is under way arrives …',
  comparing: 'comparing the ledger of the sandbox, the database and the topic …',
};

/** In place; where nothing stays in place, each step once. */
function tellSteps(screen: DemoScreen): (step: ProofStep, part?: number) => void {
  const shown = new Set<ProofStep>();
  return (step, part) => {
    if (!screen.hasStatus && !shown.has(step)) screen.say(stepWords[step]);
    shown.add(step);
    screen.show(stepWords[step], part);
  };
}

/** The address, the rate and the faults, in place until the signal. */
async function showStatus({ io, screen, stack, counts, watched }: Run, signal: AbortSignal): Promise<void> {
  let [before, beforeMs] = [counts.records, io.clock.monotonicMs()];
  while (screen.hasStatus && !signal.aborted) {
    await io.clock.sleep(1000, signal);
    const [records, nowMs] = [counts.records, io.clock.monotonicMs()];
    const rate = Math.round(((records - before) * 1000) / Math.max(1, nowMs - beforeMs));
    [before, beforeMs] = [records, nowMs];
    const { incidents } = watched.document();
    const open = incidents.filter(({ state }) => state !== 'healed').length;
    const faults = watched.presses === 0 ? 'no faults' : `${plural(watched.presses, 'fault')}, ${open} not healed`;
    screen.show(`${stack.restAddress}/console  ${rate}/s, ${records} read back  ${faults}  Ctrl-C: the proof`);
  }
}

/**
 * Shows some market updates first, then the commands, once their account is live. Steps that a user
 * disturbed may end otherwise than announced: the proof judges them.
 */
async function showOnStage({ io, stack, stage, screen, watched }: Run, signal: AbortSignal): Promise<CommandsShown> {
  await io.clock.sleep(marketFirstMs, signal);
  await awaitLive(io, stack.adminAddress, io.clock.monotonicMs() + liveWithinMs, signal);
  stage.ours = true;
  try {
    const shown = await showCommands(io, stack, (line) => screen.say(line), signal);
    return watched.presses > 0 ? { faults: [] } : shown;
  } finally {
    stage.ours = false;
    if (!signal.aborted && !screen.hasStatus) screen.say('\nThe market again:\n');
  }
}

async function consume({ io, log, stack, counts, screen, stage }: Run, signal: AbortSignal): Promise<void> {
  if (stack.brokers === undefined) return;
  const kafka = { ...kafkaDefaults, brokers: stack.brokers };
  let second = 0;
  let shown = 0;
  let hintShown = false;
  const paint = (word: string) => io.colours.word(word, screen.output);
  const records = readTopic(
    { log, clock: io.clock, random: io.random },
    { kafka, topic: stack.topic, from: 'beginning', readCommitted: true, signal },
  );
  for await (const { partition, value } of records) {
    if (value === undefined) continue;
    counts.addUpdate(partition, value);
    const now = Math.floor(io.clock.monotonicMs() / 1000);
    if (now !== second) [second, shown] = [now, 0];
    // Parsing a record costs more than this text search, and most are not ours.
    if ((stage.ours || screen.hasStatus) && !value.includes('"origin":"tidemark"')) continue;
    shown += 1;
    const update = shown <= shownPerSecond ? parseUpdate(value) : undefined;
    if (update !== undefined) screen.say(formatUpdate(update, 'short', paint));
    if (!hintShown && !stage.ours && counts.records >= 30) {
      hintShown = true;
      screen.say(whereToLook(stack));
    }
  }
}

function report(
  io: CliIo,
  flags: DemoFlags,
  stack: DemoStack,
  { proof, shown }: { readonly proof: DemoProof; readonly shown: CommandsShown },
  say: (line: string) => void,
): void {
  const { faults: orderFaults, ...figures } = proof.run;
  const { commands, resolved, unresolved } = proof.commands;
  const commandFaults = [...proof.commands.faults, ...shown.faults];
  const { observations, updates, byReads, consumed, orders, lost, doubled, outOfOrder } = figures;
  const kept = stack.brokers === undefined ? 'all kept in the log for Kafka' : `${consumed} read back from Kafka`;
  const witnesses = stack.brokers === undefined ? 'ledger and database' : 'ledger, database and topic';
  say(
    `\n${plural(observations, 'event')} sent, ${plural(updates, 'change')} of ${plural(orders, 'order')} accepted, ${kept}.`,
  );
  say(
    `${plural(byReads, 'change')} of these came by no event: the orders as the first list showed them, and what reads and answers found later.`,
  );
  say(`By ${witnesses}: ${lost} lost, ${doubled} doubled, ${outOfOrder} out of order.`);
  const agrees = commandFaults.length === 0 ? '; every verdict agrees with the ledger, and none was sent twice' : '';
  say(`${plural(commands, 'command')}, ${resolved} resolved, ${unresolved} unresolved${agrees}.`);
  for (const fault of [...commandFaults, ...orderFaults].slice(0, 5)) say(`  ${fault}`);
  const { kafka, postgres } = stack;
  if (flags.json)
    io.stdout.write(`${JSON.stringify({ ...figures, commands, resolved, unresolved, kafka, postgres })}\n`);
  if (lost + doubled + outOfOrder + commandFaults.length > 0) io.exit(1);
}

/** Next steps to try, with this run's addresses. */
export function whereToLook(stack: DemoStack): string {
  const broker = stack.brokers?.[0] ?? '';
  const { stream, predictionSymbol } = stack.sandbox;
  const prefix = stack.topicPrefix === '' ? '' : `TIDEMARK_TOPIC_PREFIX=${stack.topicPrefix} `;
  // A given address may hold a password, and is not printed.
  const database = stack.databaseGiven ? '"$DATABASE_URL"' : `'${stack.databaseUrl}'`;
  return [
    '',
    'Where to look next, in another terminal:',
    `  npx tidemark status --url ${stack.adminAddress}`,
    `  KAFKA_BROKERS=${broker} ${prefix}npx tidemark tail --stream ${predictionSymbol === undefined ? stream : 'prediction'}`,
    `  DATABASE_URL=${database} KAFKA_BROKERS=${broker} ${prefix}npx tidemark verify  # as well: token ls`,
    `  kcat -b ${broker} -t ${stack.topic} -C -o beginning -f '%k %s\\n'`,
    `  curl -s ${stack.adminAddress}/metrics | grep tidemark_latency`,
    `  curl -s ${stack.restAddress}/docs  # every route of REST`,
    `  curl -sN ${stack.restAddress}/v1/stream  # follows the updates`,
    `  npx tidemark command ls --unresolved --url ${stack.restAddress}  # as well: dead-letters ls, backfill SIM-1001`,
    `  curl -s -X POST ${stack.sandbox.control}/faults -H 'content-type: application/json' -d '{"stream":{"duplicate":0.2,"reorder":0.2,"silent_loss":0.05}}'`,
    `  curl -s ${stack.sandbox.control}/  # other faults that the sandbox can make`,
    '',
  ].join('\n');
}
