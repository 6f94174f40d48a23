import { type Command, isFinal } from '../../domain/command.ts';
import { readableRows } from '../rows.ts';
import { retryQuery } from '../session/retry-transaction.ts';
import { JournalError, writeOnce } from '../session/write-once.ts';
import type { HaltBounds } from './command-journal.ts';
import { stepCommand } from './command-writes.ts';
import type { JournalDeps, JournalWrite } from './journal-calls.ts';
import { decodeKnown, readStored } from './journal-memory.ts';
import { type KnownCommand, takenOver } from './journal-rows.ts';
import type { Fence } from './term.ts';

/** Complete commands in one read: 0.1 s on the server. */
const pageRows = 1_000;

/**
 * Shuts the former holder out and waits for its last transactions. Then no other process steps the
 * shard's commands: they are read, and attempts under way become not sent or unknown, by steps
 * like any other. Rejects with `FENCED` if a later holder has taken over. After any other
 * rejection it may be called again under the same epoch, and goes on with the rest.
 */
export const takeOverCommands: JournalWrite<'takeOver'> = async (
  deps,
  fence,
  atMs,
  recentMs,
  haltAt,
  onUnreadable = () => {},
) => {
  const { shard, epoch } = fence;
  const { checkpoint, ...quiet } = deps;
  const [row] = await writeOnce<{ highest: string }>(deps, {
    text: 'select public.take_over_commands($1, $2) as highest',
    values: [shard, epoch.toString()],
  });
  deps.groups.numbers.begin(shard, BigInt(row?.highest ?? 0));
  deps.known.forgetShard(shard);
  const ids = await idsOf(deps, shard, recentMs);
  const found: KnownCommand[] = [];
  for (let from = 0; from < ids.length; from += pageRows) {
    const rows = await readStored(deps, ids.slice(from, from + pageRows));
    found.push(
      ...readableRows(rows, decodeKnown, ({ fault }, { account_id: accountId, command: stored }) => {
        const { commandId, resolvedAtMs, updatedAtMs } = stored;
        onUnreadable({ commandId, accountId, isFinal: resolvedAtMs !== null, updatedAtMs, fault });
      }),
    );
  }
  const commands: Command[] = [];
  for (let from = 0; from < found.length; from += pageRows) {
    const swept = found.slice(from, from + pageRows).map((each) => sweep(quiet, each, fence, atMs, haltAt));
    commands.push(...(await Promise.all(swept)));
  }
  const taken = commands.filter(({ state, resolvedAtMs }) => !isFinal(state) || (resolvedAtMs ?? 0) >= atMs - recentMs);
  // This call may have swept some, or a try before it that had no answer: the newest stands for
  // all.
  const newest = taken.toSorted((a, b) => a.updatedAtMs - b.updatedAtMs).at(-1);
  if (newest !== undefined) checkpoint?.saw(['step', newest.commandId, newest.version, newest.updatedAtMs]);
  return taken;
};

async function sweep(
  deps: JournalDeps,
  known: KnownCommand,
  fence: Fence,
  atMs: number,
  haltAt: HaltBounds | undefined,
): Promise<Command> {
  let { command } = known;
  deps.known.keep(known);
  for (let step = takenOver(command, fence, atMs); step !== undefined; step = takenOver(command, fence, atMs)) {
    const result = await stepCommand(deps, { ...step, ...(haltAt && { haltAt }) }, fence);
    if (result.kind !== 'stepped' && result.kind !== 'stale')
      throw new JournalError('FENCED', false, new Error(`shard ${fence.shard} has a later holder`));
    ({ command } = result);
  }
  return command;
}

/**
 * Commands not final or without an answer, and those final lately, oldest first. The second are
 * among the shard's newest rows, by the database's clock: found by leaps of a thousand (60,000 rows
 * one by one took 3.7 s of the 4 s that a statement has).
 */
async function idsOf(deps: JournalDeps, shard: number, recentMs: number): Promise<string[]> {
  const rows = await retryQuery<{ command_id: string }>(
    deps,
    `with recursive leap as (
         (select seq, recorded_at from public.journal where shard = $1 order by seq desc limit 1)
         union all
         select j.* from leap l cross join lateral (
           select seq, recorded_at from public.journal where shard = $1 and seq < l.seq order by seq desc offset 999 limit 1) as j
         where l.recorded_at > clock_timestamp() - $2 * interval '1 millisecond' - interval '1 minute'
       )
       select o.command_id from (
         select command_id from public.open_commands where shard = $1
         union select command_id from public.journal where shard = $1 and resolved_at is not null and seq >= (
           select coalesce(min(seq) filter (where recorded_at <= clock_timestamp() - $2 * interval '1 millisecond' - interval '1 minute'), 0) from leap)) as k
       join public.journal o on o.command_id = k.command_id and o.number = 1 order by o.at, o.command_id`,
    [shard, recentMs],
  );
  return rows.map(({ command_id }) => command_id);
}
