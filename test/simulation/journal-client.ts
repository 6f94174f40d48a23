import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../src/runtime/clock.ts';
import type { Act, CommitCheckpoint } from '../../src/runtime/lease.ts';
import type { Random } from '../../src/runtime/random.ts';
import type { CommandJournal, Miss } from '../../src/store/commands/command-journal.ts';
import type { Halt } from '../../src/store/commands/halts-journal.ts';
import type { Fence } from '../../src/store/commands/term.ts';
import { JournalViolation } from '../support/commands/journal-rules.ts';
import type { JournalHook, JournalOperation, MemoryJournal } from '../support/commands/memory-journal.ts';
import type { Host } from './host.ts';
import type { CommandWatch } from './oracles/command-watch.ts';
import type { HaltOracle } from './oracles/halt-oracle.ts';
import type { CrashPoint, CrashPoints } from './plan/crash-points.ts';
import type { MemoryDatabase } from './world/memory-database.ts';

interface JournalClientDeps {
  readonly journal: MemoryJournal;
  readonly database: MemoryDatabase;
  readonly host: Host;
  readonly clock: Clock;
  readonly random: Random;
  readonly points: CrashPoints;
  readonly haltOracle: HaltOracle;
  readonly commandWatch: CommandWatch;
  /** By shard and epoch: the process that uses it. */
  readonly fences: Map<string, string>;
  /** The memory of the process, where halts may be lost. */
  readonly checkpoint: () => CommitCheckpoint | undefined;
}

const asked: Partial<Record<JournalOperation, CrashPoint>> = {
  open: 'open_asked',
  markSending: 'sending_asked',
  step: 'step_asked',
  addEvidence: 'evidence_asked',
  takeOver: 'take_over_asked',
  raiseHalt: 'halt_asked',
};

const committed: Partial<Record<JournalOperation, CrashPoint>> = {
  open: 'open_committed',
  markSending: 'sending_committed',
  step: 'step_committed',
  takeOver: 'take_over_committed',
  raiseHalt: 'halt_committed',
};

/**
 * A commit whose client has given up by then comes so late at most:
 * the server's own deadline for a statement.
 */
const orphanMs = 4_000;

/**
 * One process's connections to the journal: calls that fail before they do anything, whose answers
 * are lost, or that happen after all, long after they failed.
 */
export function journalClient(deps: JournalClientDeps): CommandJournal {
  const { journal, host } = deps;
  const mine: MemoryJournal = Object.create(journal, { hook: { value: hookOf(deps) } });
  /** As in `GroupCommit`, a write that nobody waits for waits for others. */
  const afterCompany = async ([step]: readonly unknown[]): Promise<void> => {
    if ((step as { mayWait?: boolean } | undefined)?.mayWait === true) await deps.clock.sleep(10);
  };
  return new Proxy(mine, {
    get: (target, name: JournalOperation) => {
      if (name === 'hurry') return () => {};
      const call = target[name] as (...args: unknown[]) => Promise<unknown>;
      return async (...args: unknown[]) => {
        for (const each of args) if (isFence(each)) mustBeAlone(each, deps);
        if (name === 'noteMisses') deps.commandWatch.missed(host.name, args[0] as Miss[]);
        const answer = await host.answer(afterCompany(args).then(() => call.apply(target, args)));
        const act = actOf(journal, name, args, answer);
        if (act !== undefined) deps.checkpoint()?.saw(act);
        if (act?.[0] === 'halt') deps.haltOracle.acknowledge(act[1]);
        return answer;
      };
    },
  });
}

/** What a process remembers of an answer about halts, as `store/commands/halts.ts` does. */
function actOf(
  journal: MemoryJournal,
  name: JournalOperation,
  args: readonly unknown[],
  answer: unknown,
): Act | undefined {
  if (name === 'raiseHalt') return ['halt', (answer as Halt).haltId];
  if (name !== 'clearHalts' || typeof answer !== 'number') return undefined;
  const { atMs } = args[1] as { readonly atMs: number };
  const cleared = journal.halts.find((halt) => halt.clearedAtMs === atMs && isDeepStrictEqual(halt.scope, args[0]));
  return cleared && ['resume', cleared.haltId];
}

/** As `lacks_acts` does, of halts: a run that loses commits has no commands. */
export function lacksActs({ halts }: MemoryJournal, acts: readonly Act[]): boolean {
  return acts.some(([kind, id]) => {
    const found = halts.find(({ haltId }) => haltId === id);
    return found === undefined || (kind === 'resume' && found.clearedAtMs === undefined);
  });
}

function isFence(of: unknown): of is Fence {
  return typeof of === 'object' && of !== null && 'shard' in of && 'epoch' in of;
}

/** No two processes have the same fence. */
function mustBeAlone({ shard, epoch }: Fence, { fences, host, database }: JournalClientDeps): void {
  const name = `${shard} ${epoch}`;
  const other = fences.get(name) ?? host.name;
  fences.set(name, other);
  if (other !== host.name)
    database.violations.push(`${host.name} works on shard ${shard} under epoch ${epoch} of ${other}`);
}

function hookOf({ database, host, clock, random, points, haltOracle }: JournalClientDeps): JournalHook {
  const whole = <T>(transact: () => T): T => {
    try {
      return transact();
    } catch (error) {
      if (error instanceof JournalViolation)
        database.violations.push(`${host.name} asks the journal for what it forbids: ${error.message}`);
      throw error;
    } finally {
      haltOracle.transacted();
    }
  };
  /** Nobody waits for its answer any more. */
  const late = (transact: () => unknown) => {
    try {
      whole(transact);
    } catch {}
  };
  return async (operation, transact) => {
    const { retry, lostBefore, unreachable, orphan, lostAnswer } = database.faults;
    reach(points, asked[operation], host);
    await clock.sleep(random.next() * 3);
    const dice = random.next();
    const gone = host.crashed && random.next() < 0.5;
    if (gone || database.down || dice < Math.max(retry + lostBefore, unreachable))
      throw new Error('the database cannot be reached');
    if (dice >= 1 - orphan) {
      clock.after(random.next() * orphanMs, () => {
        if (!database.down) late(transact);
      });
      await clock.sleep(random.next() * 3);
      throw new Error('the connection broke');
    }
    const result = whole(transact);
    reach(points, committed[operation], host);
    await clock.sleep(random.next() * 2);
    if (dice >= 1 - orphan - lostAnswer) throw new Error('the answer was lost');
    return result;
  };
}

function reach(points: CrashPoints, point: CrashPoint | undefined, host: Host): void {
  if (point !== undefined) points.reach(point, host);
}
