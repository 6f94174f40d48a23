import { type Command, type CommandKind, isDoubtful } from '../../../src/domain/command.ts';
import { isTerminal } from '../../../src/domain/order.ts';
import type { Finding, ResolvingUpdate, Verdict } from '../../../src/domain/resolving.ts';
import { CancelAllRun } from '../../../src/service/commands/cancel-all/cancel-all-run.ts';
import { CommandBook } from '../../../src/service/commands/command-book.ts';
import { CommandSteps } from '../../../src/service/commands/command-steps.ts';
import { decideFinding } from '../../../src/service/commands/decide-step.ts';
import { ProbeWatch } from '../../../src/service/commands/probe-watch.ts';
import { findingOf, ResolveWatched } from '../../../src/service/commands/resolve-watched.ts';
import type { Watched } from '../../../src/service/commands/watched.ts';
import type { NewCancelAll } from '../../../src/store/commands/cancel-all-journal.ts';
import type { CommandStep, Miss, MissResult } from '../../../src/store/commands/command-journal.ts';
import type { Halt } from '../../../src/store/commands/halts-journal.ts';
import type { Fence } from '../../../src/store/commands/term.ts';
import { MemoryJournal } from '../../support/commands/memory-journal.ts';
import type { SimulatedWorld } from '../simulated-world.ts';
import type { PlantedBug } from './planted-bug.ts';
import { sends } from './planted-sending-bugs.ts';
import { instead, replaced } from './replaced.ts';

type Change = (finding: Finding, command: Command, entry: Watched) => Finding;

/** Verdicts as they are, but for what `change` makes of them. */
export function judging(kind: CommandKind, change: Change) {
  return replaced(
    ResolveWatched,
    'conclude' as keyof ResolveWatched,
    async function (this: ResolveWatched, entry: Watched, run: { again: boolean }) {
      const { steps, clock } = (this as unknown as { deps: { steps: CommandSteps; clock: { nowMs(): number } } }).deps;
      const decide = (command: Command) => {
        const finding = findingOf(entry, command);
        const made = command.request.kind === kind ? change(finding, command, entry) : finding;
        return decideFinding(command, made, clock.nowMs());
      };
      const result = await steps.commit(entry.command, decide, entry.term);
      if (result.kind === 'stepped') run.again = true;
    },
  );
}

export function verdict(
  result: Exclude<Verdict['result'], 'accepted'>,
  { orderId = 'none' }: { readonly orderId?: string },
): Verdict {
  return {
    kind: 'verdict',
    result,
    event: `verdict_${result}`,
    because: 'ended',
    orderId,
    evidence: { kind: 'update', code: 'planted', detail: { orderId } },
  };
}

/** The newest update of a command that nobody has an answer for. */
function newestOf(command: Command, entry: Watched): ResolvingUpdate | undefined {
  return command.state === 'unknown' || command.state === 'accepted' ? entry.updates.at(-1) : undefined;
}

const places: readonly PlantedBug[] = [
  {
    name: 'a place is resolved by an order with its terms, without its reference',
    seed: 7,
    shows: /\(place\) becomes applied: it (was not done|is bound to)/,
    plant: judging('place', (finding, command, entry) => {
      const open = command.state === 'unknown' && finding.kind === 'nothing' && entry.bound.length === 0;
      return open ? verdict('applied', { orderId: `like-${command.commandId}` }) : finding;
    }),
  },
  {
    name: 'a place is done as soon as its order is there, whatever the venue makes of it',
    shows: /\(place\) becomes applied: its order is (pending_new|rejected)/,
    plant: judging('place', (finding) =>
      finding.kind === 'verdict' && finding.result === 'accepted'
        ? { ...finding, result: 'applied', event: 'bound' }
        : finding,
    ),
  },
  {
    name: 'a place waits for the venue no longer than until its order is there',
    shows: /is accepted, not (applied|rejected)/,
    plant: judging('place', (finding, command) => (command.orderId === undefined ? finding : { kind: 'nothing' })),
  },
  {
    name: 'a reference that a complete read does not show means rejected',
    seed: 7,
    shows: /becomes rejected: it is|is rejected, and is done late/,
    deps: missing((miss) => ({ ...miss, to: 'rejected' })),
  },
  {
    name: 'each read that misses an unknown command is a step of it, and an event for everybody',
    seed: 7,
    shows: /tells version \d+, which says nothing new/,
    deps: missing((miss) => ({ ...miss, to: 'unknown' })),
  },
  {
    name: 'what is presumed absent is resolved as rejected',
    seed: 37,
    shows: /is rejected, and is done late|becomes rejected: it is/,
    seeds: 'patient',
    plant: replaced(
      CommandSteps,
      'commit',
      stepping((step) => (step.presumedAbsent === true ? { ...step, to: 'rejected', presumedAbsent: false } : step)),
    ),
  },
  {
    name: 'a read that failed counts as one that showed nothing',
    seed: 302,
    shows: /counts a read as one that missed/,
    seeds: 'patient',
    deps: () => ({
      // In its world every look fails.
      aroundLook: async () => ({ complete: true, startedAtMs: Number.MAX_SAFE_INTEGER, certain: true, shown: [] }),
    }),
  },
  {
    name: 'a landing behind the presumption of absence is not told to anybody',
    seed: 7,
    shows: /landed late, and nothing is halted/,
    seeds: 'patient',
    deps: writing(({ lateLanding, ...step }) => step),
  },
  {
    name: 'what is presumed absent is looked for no more',
    seed: 7,
    shows: /is unknown, not applied/,
    seeds: 'patient',
    plant: judging('place', (finding, command) => (command.presumedAbsent ? { kind: 'nothing' } : finding)),
  },
];

function countDoubtful({ journal }: SimulatedWorld, accountId: string): number {
  const commands = [...journal.commands.values()];
  return commands.filter(({ state, request }) => isDoubtful(state) && request.accountId === accountId).length;
}

/** Of one moment: so far apart are two transactions that do not see each other. */
const besideMs = 50;

const doubts: readonly PlantedBug[] = [
  {
    name: 'the halt for too many doubtful commands is raised behind their step, in a transaction of its own',
    seed: 46,
    shows: /doubtful commands of .*, and nothing is halted/,
    deps: ({ journal, random }, world) => ({
      journal: instead(journal, {
        step: async ({ haltAt, ...step }: CommandStep, fence: Fence) => {
          const result = await journal.step(step, fence);
          if (result.kind !== 'stepped' || haltAt === undefined) return result;
          const { accountId } = result.command.request;
          const halt = { scope: { kind: 'account', accountId }, cause: 'unresolved', reason: 'late', by: 'x' } as const;
          if (countDoubtful(world, accountId) >= haltAt.account)
            await journal.raiseHalt({ ...halt, haltId: random.uuid(), sinceMs: step.atMs });
          return result;
        },
      }),
    }),
  },
  {
    name: 'two steps to doubt at one moment do not see each other',
    seed: 81,
    shows: /doubtful commands of .*, and nothing is halted/,
    plant: replaced(
      MemoryJournal,
      'countDoubtful' as keyof MemoryJournal,
      function (this: MemoryJournal, scope: Halt['scope']) {
        const isOf = ({ request }: Command) => scope.kind === 'service' || scope.accountId === request.accountId;
        const doubtful = [...this.commands.values()].filter((command) => isDoubtful(command.state) && isOf(command));
        const newestMs = Math.max(...doubtful.map(({ updatedAtMs }) => updatedAtMs));
        return doubtful.filter(({ updatedAtMs }) => updatedAtMs <= newestMs - besideMs).length + 1;
      },
    ),
  },
  {
    name: 'what a takeover makes unknown is not counted',
    shows: /doubtful commands of .*, and nothing is halted/,
    deps: ({ journal }, world) => {
      // A sweep finds few at once.
      Object.assign(world.settings.commands, { haltAt: { account: 1, service: 100 } });
      return {
        journal: instead(journal, {
          takeOver: (fence: Fence, atMs: number, recentMs: number) => journal.takeOver(fence, atMs, recentMs),
        }),
      };
    },
  },
];

const bindings: readonly PlantedBug[] = [
  {
    name: 'an order that is first shown without its reference is bound to nobody, then or later',
    seed: 15,
    shows: /is unknown, not applied|is accepted, not applied/,
    deps: ({ database }, world) => {
      const readBindings: typeof database.orders.readBindings = async (attemptIds) => {
        const found = await database.orders.readBindings(attemptIds);
        for (const attemptId of attemptIds) {
          const terms = world.platform.ledger.ofAttempt(attemptId).find(({ order }) => order !== undefined)
            ?.order?.terms;
          if (terms !== undefined && world.database.heads.has(`${terms.stream}:${terms.orderId}`))
            found.delete(attemptId);
        }
        return found;
      };
      return { database: { ...database, orders: { ...database.orders, readBindings } } };
    },
  },
];

const replaces: readonly PlantedBug[] = [
  {
    name: 'old terms at work mean that the replace was rejected, though nobody has seen it pending',
    seed: 28,
    shows:
      /\(replace\) becomes rejected|is rejected, and is done late|\(replace prediction, unknown\) is rejected, not/,
    plant: judging('replace', (finding, command, entry) => {
      const order = entry.updates.at(-1)?.order;
      const still = order === undefined || (order.pendingAction === 'none' && !isTerminal(order.status));
      return finding.kind === 'nothing' && command.state === 'unknown' && still
        ? verdict('rejected', command)
        : finding;
    }),
  },
  {
    name: 'a replace that the platform took counts as done',
    seed: 19,
    shows: /\(replace\) becomes applied: the venue says/,
    plant: judging('replace', (finding, command) =>
      finding.kind === 'nothing' && command.state === 'accepted' ? verdict('applied', command) : finding,
    ),
  },
  {
    name: 'a requested term that was the working one already proves the replace',
    seed: 19,
    shows: /\(replace\) becomes applied/,
    plant: judging('replace', (finding, command, entry) => {
      const update = newestOf(command, entry);
      const { request } = command;
      if (finding.kind !== 'nothing' || update === undefined || request.kind !== 'replace') return finding;
      const same = request.terms.timeInForce !== undefined || request.terms.price === update.order.working.price;
      return same ? verdict('applied', update.order) : finding;
    }),
  },
  {
    name: 'a replace of terms that show nowhere counts as rejected once it is pending no more, whatever the reason on the order',
    seed: 12,
    shows: /\(replace\) becomes rejected: the venue says granted/,
    plant: judging('replace', (finding, command) =>
      finding.kind === 'verdict' && finding.because === 'nothing_to_tell_by' ? verdict('rejected', command) : finding,
    ),
  },
  {
    name: 'an order that ended ends its replace as rejected',
    seed: 40,
    shows: /\(replace\) becomes rejected|is rejected, not/,
    plant: judging('replace', (finding, command, entry) => {
      const update = newestOf(command, entry);
      return update !== undefined && isTerminal(update.order.status) ? verdict('rejected', update.order) : finding;
    }),
  },
];

const cancels: readonly PlantedBug[] = [
  {
    name: 'what another cancel of the order came to is taken for what this one did',
    seed: 4,
    seeds: 'sweeping',
    shows: /\(cancel\) becomes rejected|is rejected, and is done late/,
    plant: replaced(CommandBook, 'addRival', () => undefined),
  },
  {
    name: 'a cancel that somebody else asked for of an order that is theirs is taken for ours',
    seed: 4,
    seeds: 'contesting',
    shows: /\(cancel\) becomes rejected: it is still on its way/,
    plant: judging('cancel', (_finding, command, entry) => {
      const updates = entry.updates.map((update) => ({
        ...update,
        order: { ...update.order, origin: 'tidemark' as const },
      }));
      return findingOf({ ...entry, updates }, command);
    }),
  },
  {
    name: 'a fill behind a cancel means that the cancel was rejected',
    seed: 9,
    shows: /\(cancel\) becomes rejected|is rejected, and is done late/,
    plant: judging('cancel', (finding, command, entry) => {
      const update = newestOf(command, entry);
      const filling = update?.order.status === 'partially_filled' && update.order.pendingAction === 'none';
      return finding.kind === 'nothing' && filling ? verdict('rejected', update.order) : finding;
    }),
  },
  {
    name: 'any end of the order is the effect of its cancel',
    seed: 11,
    shows: /\(cancel\) becomes applied: the order is/,
    plant: judging('cancel', (finding) =>
      finding.kind === 'verdict' && finding.result === 'moot'
        ? { ...finding, result: 'applied', event: 'verdict_applied' }
        : finding,
    ),
  },
  {
    name: 'a cancel that the platform has in hand counts as done',
    seed: 9,
    shows: /\(cancel\) becomes applied: the order is/,
    plant: judging('cancel', (finding, command, entry) => {
      const update = newestOf(command, entry);
      return finding.kind === 'reached' && update !== undefined ? verdict('applied', update.order) : finding;
    }),
  },
];

const memories: readonly PlantedBug[] = [
  {
    name: 'a new holder does not take up what was unresolved',
    seed: 17,
    shows: /does not follow it|not applied/,
    deps: ({ journal }) => ({
      journal: instead(journal, {
        takeOver: async (...call: Parameters<typeof journal.takeOver>) => {
          await journal.takeOver(...call);
          return [];
        },
        unresolved: async () => [],
      }),
    }),
  },
  {
    name: 'a cancel-all that is repeated is about what is open by then',
    shows: /was about .*, and is now about/,
    seeds: 'sweeping',
    deps: ({ journal }) => ({
      journal: instead(journal, {
        findCancelAll: async () => undefined,
        openCancelAll: async (cancelAll: NewCancelAll) => ({ kind: 'opened', cancelAll }),
      }),
    }),
  },
  {
    name: 'a cancel-all forgets what is unresolved',
    shows: /does not name .*, which is unresolved/,
    seeds: 'sweeping',
    deps: ({ journal }) => ({ journal: instead(journal, { unseenPlaces: async () => [] }) }),
  },
  {
    name: 'what lands behind a cancel-all stays',
    shows: /in spite of cancel-all/,
    seeds: 'sweeping',
    plant: replaced(CancelAllRun, 'cancelLanded' as keyof CancelAllRun, async () => undefined),
  },
  {
    name: 'a new holder forgets the cancel-alls in force',
    seed: 7,
    shows: /in spite of cancel-all/,
    seeds: 'sweeping',
    deps: ({ journal }) => ({ journal: instead(journal, { cancelAllsInForce: async () => [] }) }),
  },
  {
    name: 'a retry looks like another request',
    shows: /is called reused with the same body/,
    deps: ({ journal, random }) => ({
      journal: instead(journal, {
        findByKey: async () => undefined,
        open: (command: Parameters<typeof journal.open>[0], fence: Parameters<typeof journal.open>[1]) =>
          journal.open({ ...command, requestHash: random.uuid() }, fence),
      }),
    }),
  },
  {
    name: 'a process remembers the commands of a shard that it has given away',
    seed: 6,
    seeds: 'moving',
    shows: /follows it without its shard/,
    plant: replaced(CommandBook, 'forget', () => undefined),
  },
  {
    name: 'the probes of a command outlive it',
    seed: 7,
    shows: /leaves \d+ timers behind/,
    plant: replaced(ProbeWatch, 'forget', () => undefined),
  },
];

/**
 * Mistakes that one could make with commands: one for each rule of "How unknown is resolved" at
 * least, and for what must never happen.
 */
export const plantedCommandBugs: readonly PlantedBug[] = [
  ...sends,
  ...places,
  ...doubts,
  ...bindings,
  ...replaces,
  ...cancels,
  ...memories,
];

/** Each miss a step of its command, as `change` has it. */
export function missing(change: (miss: Omit<CommandStep, 'to'>) => CommandStep): NonNullable<PlantedBug['deps']> {
  return ({ journal }) => ({
    journal: instead(journal, {
      noteMisses: async (misses: readonly Miss[], fence: Fence): Promise<MissResult> => {
        const moved: Command[] = [];
        for (const { evidence, ...of } of misses) {
          const result = await journal.step(change({ ...of, atMs: evidence.atMs, evidence: [evidence] }), fence);
          if (result.kind === 'not_waiting') throw new Error('a miss is under no approval');
          if (result.kind === 'fenced') return result;
          moved.push(result.command);
        }
        return { kind: 'noted', noted: [], moved };
      },
    }),
  });
}

/** Steps as `change` writes them. */
function writing(change: (step: CommandStep) => CommandStep): NonNullable<PlantedBug['deps']> {
  return ({ journal }) => ({
    journal: instead(journal, { step: (step: CommandStep, fence: Fence) => journal.step(change(step), fence) }),
  });
}

type Step = { readonly to: string; readonly misses?: number; readonly presumedAbsent?: boolean };

/** Steps as they are decided, but for what `change` makes of them. */
function stepping(change: (step: Step) => Step) {
  const original = CommandSteps.prototype.commit;
  return function (this: CommandSteps, ...[command, decide, term]: Parameters<CommandSteps['commit']>) {
    const changed: typeof decide = (newest) => {
      const decision = decide(newest);
      return decision && { ...decision, step: change(decision.step) as typeof decision.step };
    };
    return original.call(this, command, changed, term);
  };
}
