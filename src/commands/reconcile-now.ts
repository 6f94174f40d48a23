import type { CommandOutcome } from '../domain/command.ts';
import { isFinal, isUnresolved } from '../domain/command.ts';
import type { Stream } from '../domain/order.ts';
import type { Clock } from '../runtime/clock.ts';
import type { CommandBook } from './command-book.ts';
import type { ReconcileReport } from './commands.ts';
import type { ProbeWatch } from './probe-watch.ts';
import { isFollowed, type Watched } from './watched.ts';

/** The budget may make many accounts wait for minutes; whoever asked is told by then what has come of it so far. */
const longestMs = 20_000;

/** Probes everything that is followed at once, within the budget; `dryRun` reads nothing. Never rejects. */
export async function reconcileNow(
  { book, clock, watch }: { readonly book: CommandBook; readonly clock: Clock; readonly watch: ProbeWatch },
  { accountId, dryRun }: { readonly accountId?: string; readonly dryRun: boolean },
): Promise<ReconcileReport> {
  const entries = [...(accountId === undefined ? book.all() : book.ofAccount(accountId))];
  const followed = entries.filter(({ command }) => isFollowed(command));
  const groups = new Map<string, { stream: Stream; accountId: string; entries: Watched[] }>();
  for (const entry of followed) {
    const { stream, accountId: account } = entry.command.request;
    const key = `${stream}:${account}`;
    const group = groups.get(key) ?? { stream, accountId: account, entries: [] };
    group.entries.push(entry);
    groups.set(key, group);
  }
  const plan = [...groups.values()].map((group) => ({
    accountId: group.accountId,
    stream: group.stream,
    read: 'changes of the account',
    commands: group.entries.map(({ command }) => command.commandId),
  }));
  const unresolved = entries.filter(({ command }) => isUnresolved(command.state)).length;
  if (dryRun) return { unresolved, probes: plan.length, settled: [], plan };
  const over = new AbortController();
  const all = Promise.all([...groups.values()].map((group) => watch.readAccount(group.stream, group.accountId)));
  await Promise.race([all, clock.sleep(longestMs, over.signal)]);
  over.abort();
  const settled = followed
    .filter(({ command }) => isFinal(command.state))
    .map(({ command }) => ({ commandId: command.commandId, outcome: command.state as CommandOutcome }));
  return { unresolved, probes: plan.length, settled, plan };
}
