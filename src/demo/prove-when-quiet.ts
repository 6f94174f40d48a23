import type { CliIo } from '../cli/io/io.ts';
import type { Logger } from '../observability/logger.ts';
import { createPool } from '../store/session/pool.ts';
import { askSandbox } from './ask-sandbox.ts';
import type { ProofStep } from './break-it/shapes.ts';
import { type CommandsProof, proveCommands } from './proof/judge-commands.ts';
import { proofStatementMs, proveRun, type RunProof } from './proof/prove-run.ts';
import type { TopicCounts } from './proof/topic-counts.ts';
import type { DemoStack } from './start-stack.ts';

/** A whole run's orders and commands, by the platform's ledger, the database and the topic. */
export interface DemoProof {
  readonly run: RunProof;
  readonly commands: CommandsProof;
}

interface ProveDeps {
  readonly io: Pick<CliIo, 'fetch' | 'clock'>;
  readonly log: Logger;
  readonly stack: Pick<DemoStack, 'sandbox' | 'databaseUrl' | 'brokers'>;
  readonly counts: TopicCounts;
  /** Called with each step as it begins. `part`: what had come back from Kafka, 0 to 1. */
  readonly onStep?: (step: ProofStep, part?: number) => void;
}

const settleMs = 30_000;

/**
 * Stops the market, waits until the service has nothing left to do, and compares. The proof then
 * shows anything that never settles. The market stays stopped.
 */
export async function proveWhenQuiet({ io, log, stack, counts, onStep }: ProveDeps): Promise<DemoProof> {
  const { control, stream } = stack.sandbox;
  onStep?.('quiet');
  await askSandbox(io, control, '/rate', { rate: 0 });
  await askSandbox(io, control, '/heal', {});
  const accounts = await stack.sandbox.visibleAccounts(io.fetch);
  const pool = createPool(
    { log },
    { url: stack.databaseUrl, applicationName: 'tidemark-demo', maxConnections: 2, statementMs: proofStatementMs },
  );
  const taken = stack.brokers === undefined ? undefined : counts;
  try {
    const deadline = io.clock.monotonicMs() + settleMs;
    let part: number | undefined;
    for (;;) {
      onStep?.('arriving', part);
      await io.clock.sleep(1000);
      onStep?.('comparing', part);
      const run = await proveRun({ pool, fetch: io.fetch, counts: taken }, { control, accounts, stream });
      const commands = await proveCommands({ pool, fetch: io.fetch }, control);
      const settled =
        run.lost === 0 && (taken === undefined || run.consumed === run.updates) && commands.faults.length === 0;
      part = taken && run.consumed / Math.max(1, run.updates);
      if (settled || io.clock.monotonicMs() > deadline) return { run, commands };
    }
  } finally {
    await pool.end();
  }
}
