import { describe, expect, it } from 'vitest';
import { GroupCommit } from '../../../src/store/commands/group-commit.ts';
import { KnownCommands } from '../../../src/store/commands/journal-memory.ts';
import { takeOverCommands } from '../../../src/store/commands/take-over.ts';
import { atMs, fence, newPlace, sending, unknown } from '../../support/commands/journal-fixtures.ts';
import { journalRig, takeShard } from '../../support/commands/journal-rig.ts';

/** Forgets each command once, as a write about it does that fails while this one waits. */
class OnceForgotten extends KnownCommands {
  private readonly forgotten = new Set<string>();

  override get(commandId: string) {
    if (!this.forgotten.has(commandId)) this.forget(commandId);
    this.forgotten.add(commandId);
    return super.get(commandId);
  }
}

describe('issue: After a takeover a command stayed open for ever, and the platform was never asked.', () => {
  it('sweeps each attempt under way', async () => {
    await using rig = await journalRig();
    const [prepared, sent] = [newPlace(), newPlace()];
    await rig.journal.open(prepared, fence);
    await sending(rig.journal, sent);
    const next = { ...fence, epoch: 2n };
    await takeShard(rig.pool, next);
    const deps = { ...rig.deps, groups: new GroupCommit(rig.deps), known: new OnceForgotten(rig.deps) };
    const taken = await takeOverCommands(deps, next, atMs + 100, 60_000);
    const states = (of: readonly { commandId: string; state: string }[]) =>
      new Map(of.map(({ commandId, state }) => [commandId, state]));
    const swept = new Map([
      [prepared.commandId, 'not_sent'],
      [sent.commandId, 'unknown'],
    ]);
    expect(states(taken)).toEqual(swept);
    expect(states(await rig.rows('select command_id as "commandId", state from commands'))).toEqual(swept);
  });
});

describe('issue: A busy shard could not be taken over for minutes.', () => {
  it('finds what was final lately behind thousands of newer rows, and nothing from before', async () => {
    await using rig = await journalRig();
    const [before, open, final] = [newPlace(), newPlace(), newPlace()];
    await unknown(rig.journal, before, { to: 'applied' });
    await sending(rig.journal, open);
    await rig.rows(
      `begin; set local session_replication_role = replica;
       update journal set recorded_at = now() - interval '1 hour', at = now() - interval '1 hour', resolved_at = resolved_at - interval '1 hour'; commit`,
    );
    await unknown(rig.journal, final, { to: 'applied' });
    await rig.rows(
      `insert into journal (shard, epoch, seq, kind, at, body) select 0, 1, seq, 'void', now(), '{}' from generate_series(1000, 3500) as seq`,
    );
    const taken = await rig.journal.takeOver({ ...fence, epoch: 2n }, atMs + 100, 60_000);
    expect(taken.map(({ commandId }) => commandId).toSorted()).toEqual([open.commandId, final.commandId].toSorted());
  });
});
