import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { GroupCommit } from '../../../src/store/commands/group-commit.ts';
import { createPostgresJournal } from '../../../src/store/commands/postgres-journal.ts';
import { PostgresResultLog, type ResultRow } from '../../../src/store/commands/result-log.ts';
import type { Fence } from '../../../src/store/commands/term.ts';
import { answered, atMs, newPlace } from '../../support/commands/journal-fixtures.ts';
import { type JournalRig, journalRig, takeShard } from '../../support/commands/journal-rig.ts';
import { printedRandom } from '../../support/runs/test-seed.ts';

const shards = [0, 1, 2];
const takeovers = 20;
const commandsBetween = 12;
const writersEach = 6;

/** A process that writes commands in the shards that it holds, and publishes their steps. */
class Publishing {
  /** From the taking on, as in the service: the takeover may not have been answered yet. */
  readonly held = new Map<number, Fence>();
  readonly over = new AbortController();
  written = 0;
  private readonly led = new Set<Fence>();
  private readonly rig: JournalRig;
  private readonly published: ResultRow[];
  private readonly journal;
  private readonly log;

  constructor(rig: JournalRig, published: ResultRow[]) {
    this.rig = rig;
    this.published = published;
    const groups = new GroupCommit(rig.deps);
    this.journal = createPostgresJournal({ ...rig.deps, groups });
    this.log = new PostgresResultLog({ ...rig.deps, numbers: groups.numbers });
  }

  async take(fence: Fence): Promise<void> {
    await takeShard(this.rig.pool, fence);
    this.held.set(fence.shard, fence);
    await this.journal.takeOver(fence, atMs, 0);
    this.led.add(fence);
  }

  async write(writer: number): Promise<void> {
    for (let turn = writer; !this.over.signal.aborted; turn += 1) {
      const fences = [...this.held.values()].filter((fence) => this.led.has(fence));
      const fence = fences[turn % fences.length];
      if (fence === undefined) await systemClock.turn();
      else await this.writeOne(fence);
    }
  }

  private async writeOne(fence: Fence): Promise<void> {
    const opened = await this.journal.open(newPlace({ sendingAtMs: atMs }), fence);
    if (opened.kind !== 'opened') return;
    await this.journal.step(answered(opened.command, 'unknown'), fence);
    this.written += 1;
  }

  async publish(): Promise<void> {
    let rows: readonly ResultRow[];
    do {
      rows = await this.log.readUnpublished(20, [...this.held.keys()]);
      this.published.push(...rows);
      await this.log.markPublished(rows);
    } while (rows.length > 0 || !this.over.signal.aborted);
  }
}

describe('issue: The topic of results lacked steps of commands after a process had been killed.', () => {
  it('publishes each step as it is, each command in order, whoever takes shards meanwhile', async () => {
    const random = printedRandom('the outbox over takeovers');
    await using rig = await journalRig();
    const published: ResultRow[] = [];
    const processes = [new Publishing(rig, published), new Publishing(rig, published)];
    for (const shard of shards) await processes[shard % 2]?.take({ shard, epoch: 2n });
    const working = processes.flatMap((process) => [
      process.publish(),
      ...Array.from({ length: writersEach }, (_, writer) => process.write(writer)),
    ]);
    for (let taken = 1; taken <= takeovers; taken += 1) {
      const written = () => processes.reduce((sum, process) => sum + process.written, 0);
      while (written() < taken * commandsBetween) await systemClock.turn();
      const shard = Math.floor(random.next() * shards.length);
      const [from, to] = processes[0]?.held.has(shard) ? processes : processes.toReversed();
      from?.held.delete(shard);
      await to?.take({ shard, epoch: 2n + BigInt(taken) });
    }
    for (const { over } of processes) over.abort();
    await Promise.all(working);
    // What was under way as they looked last.
    for (const process of processes) await process.publish();

    await rig.pool.query('update result_positions set seq = 0');
    const journaled = await new PostgresResultLog(rig.deps).readUnpublished(10_000, shards);
    const first = new Map<string, ResultRow>();
    for (const row of published) {
      const step = `${row.key} ${row.version}`;
      if (first.has(step)) continue;
      expect(row.version === 1 || first.has(`${row.key} ${row.version - 1}`), `${step} comes too early`).toBe(true);
      first.set(step, row);
    }
    const missing = journaled.filter(({ key, version }) => !first.has(`${key} ${version}`));
    expect(missing.map(({ shard, id }) => `${shard}:${id}`)).toEqual([]);
    for (const row of journaled) expect(first.get(`${row.key} ${row.version}`)).toEqual(row);
  });
});
