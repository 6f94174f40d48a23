import type { Pool } from 'pg';
import type { CliIo } from '../../cli/io/io.ts';
import type { Logger } from '../../observability/logger.ts';
import { createPool } from '../../store/session/pool.ts';
import { askSandbox } from '../ask-sandbox.ts';
import type { TopicCounts } from '../proof/topic-counts.ts';
import { type DemoProof, proveWhenQuiet } from '../prove-when-quiet.ts';
import { ShownRest } from '../shown-rest.ts';
import { shownAccount } from '../stack/demo-sandbox.ts';
import type { DemoStack } from '../start-stack.ts';
import { faultsAt, streamFaults, writeFaults } from './fault-orders.ts';
import { Incident } from './incident.ts';
import type { DemoDocument, FaultName, ProofDocument } from './shapes.ts';
import { watchCommand } from './watch-command.ts';
import { type WatchDeps, watchStreams } from './watch-streams.ts';

interface BreakItDeps {
  readonly io: Pick<CliIo, 'fetch' | 'clock' | 'random'>;
  readonly log: Logger;
  readonly stack: DemoStack;
  readonly counts: TopicCounts;
  /** The demo shows commands of its own just now. */
  readonly ownCommands: () => boolean;
}

interface BreakItOptions {
  /** Changes a second. The market returns to it after a proof. */
  readonly rate: number;
}

/** Why a button did nothing, as a sentence. */
interface Refused {
  readonly refused: string;
}

const keptIncidents = 12;
const shownFaults = 8;

/**
 * Behind the page "Break it" of the demo: it does a fault, watches it heal, and compares
 * ledger, database and topic. It is no part of the service.
 *
 * Invariant: one fault or one proof at a time. Incidents that wait for a person go on beside them.
 */
export class BreakIt {
  private readonly deps: BreakItDeps;
  private readonly options: BreakItOptions;
  private readonly pool: Pool;
  private readonly closing = new AbortController();
  private readonly work = new Set<Promise<void>>();
  private incidents: Incident[] = [];
  private proof: ProofDocument = { state: 'none' };
  private lastId = 0;

  constructor(deps: BreakItDeps, options: BreakItOptions) {
    this.deps = deps;
    this.options = options;
    this.pool = createPool(
      { log: deps.log },
      { url: deps.stack.databaseUrl, applicationName: 'tidemark-break-it', maxConnections: 2 },
    );
  }

  /** How often a user has broken something. */
  get presses(): number {
    return this.lastId;
  }

  document(): DemoDocument {
    const incidents = this.incidents.map((incident) => incident.document());
    return { faults: faultsAt(this.deps.stack.sandbox), incidents, proof: this.proof };
  }

  /** Does the fault, and watches it. Answers at once. */
  breakIt(fault: FaultName): { readonly id: number } | Refused {
    const refused = this.busy() ?? this.refusalOf(fault);
    if (refused !== undefined) return refused;
    this.lastId += 1;
    const incident = new Incident(this.deps.io.clock, this.lastId, fault);
    this.incidents = [incident, ...this.incidents].slice(0, keptIncidents);
    this.run(
      () => this.watch(incident),
      (why) => incident.end('stuck', `The demo could not watch it: ${why}.`),
    );
    return { id: incident.id };
  }

  /** Stops the market, compares, and lets the market go on. Answers at once. */
  prove(): object | Refused {
    const busy = this.busy();
    if (busy !== undefined) return busy;
    this.proof = { state: 'running', step: 'quiet' };
    this.run(
      () => this.compare(),
      (why) => {
        this.proof = { state: 'failed', why };
      },
    );
    return {};
  }

  /** Ends all watching, and waits for a proof under way. */
  async close(): Promise<void> {
    this.closing.abort();
    await Promise.all(this.work);
    await this.pool.end();
  }

  private busy(): Refused | undefined {
    if (this.closing.signal.aborted) return { refused: 'The demo is ending.' };
    if (this.proof.state === 'running') return { refused: 'A comparison is under way: wait for its result.' };
    if (this.incidents.some(({ underWay }) => underWay))
      return { refused: 'The last fault has not healed yet: wait for its end.' };
    return undefined;
  }

  /** A write's fault meets the next order on the account, and some sandboxes have one alone. */
  private refusalOf(fault: FaultName): Refused | undefined {
    const { ownCommands, stack } = this.deps;
    if (!faultsAt(stack.sandbox).includes(fault)) return { refused: `${stack.sandbox.name} can't do that.` };
    if (writeFaults[fault] === undefined || stack.sandbox.brokenAccount !== shownAccount || !ownCommands())
      return undefined;
    return { refused: "The demo's own orders are under way: wait for their end." };
  }

  private run(work: () => Promise<void>, failed: (why: string) => void): void {
    const done: Promise<void> = work()
      .catch((error: unknown) => {
        this.deps.log.warn({ err: error }, '"Break it" failed');
        failed(error instanceof Error ? error.message : String(error));
      })
      .finally(() => this.work.delete(done));
    this.work.add(done);
  }

  private async watch(incident: Incident): Promise<void> {
    const { io, stack } = this.deps;
    const deps: WatchDeps = {
      io,
      sandbox: stack.sandbox,
      rest: new ShownRest(io, { address: stack.restAddress, say: () => undefined }),
      pool: this.pool,
      accounts: await stack.sandbox.visibleAccounts(io.fetch),
    };
    const { signal } = this.closing;
    const stream = streamFaults[incident.fault];
    const write = writeFaults[incident.fault];
    if (stream !== undefined) await watchStreams(deps, incident, stream, signal);
    else if (write !== undefined)
      await watchCommand({ ...deps, uuid: () => io.random.uuid() }, incident, write, signal);
  }

  private async compare(): Promise<void> {
    const { io, stack } = this.deps;
    const beganMs = io.clock.monotonicMs();
    try {
      const proof = await proveWhenQuiet({
        ...this.deps,
        onStep: (step) => {
          this.proof = { state: 'running', step };
        },
      });
      this.proof = proofDocument(proof, {
        at: new Date(io.clock.nowMs()).toISOString(),
        tookMs: Math.round(io.clock.monotonicMs() - beganMs),
        withKafka: stack.brokers !== undefined,
      });
    } finally {
      if (!this.closing.signal.aborted)
        await askSandbox(io, stack.sandbox.control, '/rate', { rate: this.options.rate });
    }
  }
}

function proofDocument(
  { run, commands }: DemoProof,
  { at, tookMs, withKafka }: { readonly at: string; readonly tookMs: number; readonly withKafka: boolean },
): ProofDocument {
  const { observations, updates, byReads, consumed, orders, lost, doubled, outOfOrder, repeats } = run;
  const faults = [...commands.faults, ...run.faults];
  return {
    state: 'done',
    at,
    holds: lost + doubled + outOfOrder + commands.faults.length === 0,
    figures: {
      ...{ tookMs, observations, updates, byReads, orders, lost, doubled, outOfOrder, repeats },
      ...(withKafka && { consumed }),
      commands: commands.byState,
      faults: faults.slice(0, shownFaults),
    },
  };
}
