import type { z } from 'zod';
import { reconcileAnswer } from '../../../contract/rest-answers.ts';
import { jsonOrUndefined } from '../../../runtime/json-or-undefined.ts';
import { inParallel } from '../../../runtime/waiting.ts';
import type { Commands, OpenCommands } from '../../commands/commands.ts';
import { mergeReports } from '../../commands/over-holders.ts';
import type { Call } from '../route.ts';
import { type Forwarding, isOfThisProcess } from './forwarding.ts';
import { longActMs, type OfAll, reconcileOfAll } from './over-instances.ts';

type Report = z.infer<typeof reconcileAnswer>;
type Answer = OfAll<Report>;

interface ReconcileAllParts {
  readonly commands: Pick<Commands, 'reconcile' | 'openCommands'>;
  readonly forwarding: Forwarding;
}

/** Accounts that are asked for at once, each at its own holder. */
const atOnce = 8;

/**
 * A reconciliation of all accounts. Every command that was open when it was asked for is looked at,
 * or named in `left`: its account was between two processes, its holder has no room for it, or its
 * write is under way. A report says only what its own process looked at, so the commands are
 * compared with the journal's. The accounts of those that are left are asked for again, one by one,
 * until each had a process: the others are not read twice.
 */
export async function reconcileAll(parts: ReconcileAllParts, call: Call, dryRun: boolean): Promise<Answer> {
  const { commands, forwarding } = parts;
  const before = await commands.openCommands();
  if (before.kind === 'declined') return before;
  const looked = new Looked(before);
  const again = async (): Promise<Answer> => {
    if (looked.report === undefined) {
      const answer = await reconcileOfAll(forwarding, call, await commands.reconcile({ dryRun }));
      if (answer.kind !== 'done') return answer;
      looked.add(answer.body);
    } else
      await inParallel(looked.unheld, atOnce, async (accountId) => {
        const report = await ofAccount(parts, call, accountId, dryRun);
        if (report !== undefined) looked.add(report, accountId);
      });
    if (looked.left.length === 0) return looked.answer();
    // Some were settled meanwhile, by another look or by an update.
    const now = await commands.openCommands();
    if (now.kind === 'declined') return now;
    looked.keep(now);
    return looked.answer();
  };
  return forwarding.untilHeld(call, again, (answer) => {
    if (answer.kind === 'declined') return !isOfThisProcess(answer.code);
    return answer.kind === 'done' && looked.unheld.length === 0;
  });
}

/** Undefined: no process has the account now, or its holder gave no answer. */
async function ofAccount(
  { commands, forwarding }: ReconcileAllParts,
  call: Call,
  accountId: string,
  dryRun: boolean,
): Promise<Report | undefined> {
  const own = await commands.reconcile({ dryRun, accountId });
  if (own.kind === 'done') return mergeReports([own.report]);
  const url = `/v1/reconcile?${new URLSearchParams({ accountId, dryRun: String(dryRun) })}`;
  const given = await forwarding.answer({ ...call, url, patienceMs: longActMs }, own, accountId);
  if (given.kind !== 'answered' || given.answer.status !== 200) return undefined;
  return reconcileAnswer.safeParse(jsonOrUndefined(given.answer.text)).data;
}

/** What the looks of one request have covered so far. */
class Looked {
  report: Report | undefined;
  left: readonly { readonly commandId: string; readonly accountId: string }[];
  /** Accounts for which a process has answered: asked again, it would say the same. */
  private readonly held = new Set<string>();

  constructor({ commands }: OpenCommands) {
    this.left = commands;
  }

  /** Of the left commands' accounts, those without an answer. */
  get unheld(): readonly string[] {
    return [...new Set(this.left.map(({ accountId }) => accountId))].filter((accountId) => !this.held.has(accountId));
  }

  add(report: Report, accountId?: string): void {
    if (accountId !== undefined) this.held.add(accountId);
    const { unanswered } = this.report ?? report;
    const merged = mergeReports(this.report === undefined ? [report] : [this.report, report]);
    this.report = { ...merged, ...(unanswered !== undefined && { unanswered }) };
    const covered = new Set(report.plan.flatMap(({ commands }) => commands));
    this.left = this.left.filter(({ commandId }) => !covered.has(commandId));
  }

  keep({ commands }: OpenCommands): void {
    const open = new Set(commands.map(({ commandId }) => commandId));
    this.left = this.left.filter(({ commandId }) => open.has(commandId));
  }

  answer(): Answer {
    const { report = mergeReports([]), left } = this;
    const accounts = Map.groupBy(left, ({ accountId }) => accountId);
    return {
      kind: 'done',
      body: {
        ...report,
        ...(left.length > 0 && {
          left: [...accounts].map(([accountId, of]) => ({
            accountId,
            commands: of.map(({ commandId }) => commandId),
          })),
        }),
      },
    };
  }
}
