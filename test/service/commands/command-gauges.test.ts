import { describe, expect, it } from 'vitest';
import { CommandRig, placeEquity, refused, unknown, word } from '../../support/commands/command-rig.ts';

async function lines(rig: CommandRig): Promise<string[]> {
  return (await rig.metrics.registry.metrics()).split('\n');
}

describe('the figures of commands', () => {
  it('count each by its first result, and what resolved those that had none', async () => {
    const rig = await CommandRig.leading();
    rig.entry.scripts.push({ result: unknown }, { result: refused(400) });
    const { commandId } = await rig.send(placeEquity);
    await rig.send({ ...placeEquity, terms: { ...placeEquity.terms, qty: '20' } });
    rig.land(commandId);
    await rig.clock.advance(10);
    const text = await lines(rig);
    expect(text).toContain('tidemark_commands_total{kind="place",result="unknown"} 1');
    expect(text).toContain('tidemark_commands_total{kind="place",result="refused"} 1');
    expect(text).toContain('tidemark_command_resolutions_total{kind="place",result="applied",evidence="stream"} 1');
    expect(text).toContain('tidemark_command_seconds_count{kind="place"} 2');
    expect(text).toContain('tidemark_command_resolve_seconds_count 1');
    expect(text).toContain('tidemark_idempotency_total{result="new"} 2');
  });

  it('say how many are unresolved and since when, only while the lane is held', async () => {
    const rig = await CommandRig.leading();
    rig.entry.scripts.push({ result: unknown });
    const { commandId } = await rig.send(placeEquity);
    const sentAt = rig.clock.nowMs() / 1000;
    await rig.clock.advance(30_000);
    expect(await lines(rig)).toContain('tidemark_commands_unresolved{kind="place"} 1');
    const oldest = (await lines(rig)).find((line) => line.startsWith('tidemark_commands_oldest_unresolved'));
    expect(Math.abs(Number(oldest?.split(' ')[1]) - sentAt)).toBeLessThanOrEqual(1);
    const { accountId } = placeEquity;
    const ofAccounts = (...accountIds: string[]) => rig.commands.status({ kind: 'accounts', accountIds });
    expect([rig.commands.status(), ofAccounts(accountId, accountId)]).toMatchObject([
      { unresolved: 1 },
      { unresolved: 1 },
    ]);
    expect(ofAccounts('another')).toMatchObject({ unresolved: 0, oldestUnresolvedMs: undefined });
    await rig.during(rig.commands.operator.resolve(commandId, 'rejected', word));
    await rig.clock.advance(6_000);
    expect(await lines(rig)).toContain('tidemark_commands_unresolved{kind="place"} 0');
    expect(await lines(rig)).toContain('tidemark_commands_oldest_unresolved_timestamp_seconds 0');
    expect(await lines(rig)).toContain(
      'tidemark_command_resolutions_total{kind="place",result="rejected",evidence="person"} 1',
    );
    rig.entry.scripts.push({ result: unknown });
    await rig.send(placeEquity);
    await rig.clock.advance(6_000);
    rig.commands.endAll();
    expect(await lines(rig)).toContain('tidemark_commands_unresolved{kind="place"} 0');
  });

  it('tell places that await the venue apart from what is in doubt, and time the doubt alone', async () => {
    const rig = await CommandRig.leading();
    rig.entry.scripts.push({ result: unknown });
    const { commandId } = await rig.send(placeEquity);
    rig.land(commandId, { status: 'pending_new' });
    await rig.clock.advance(6_000);
    expect(await lines(rig)).toContain('tidemark_commands_awaiting_venue 1');
    expect(await lines(rig)).toContain('tidemark_commands_unresolved{kind="place"} 0');
    expect(await lines(rig)).toContain('tidemark_commands_oldest_unresolved_timestamp_seconds 0');
    expect(await lines(rig)).toContain('tidemark_command_resolve_seconds_bucket{le="0.05"} 1');
    await rig.clock.advance(3_600_000);
    rig.commit(rig.landed(commandId));
    await rig.clock.advance(6_000);
    expect(await lines(rig)).toContain('tidemark_commands_awaiting_venue 0');
    expect(await lines(rig)).toContain('tidemark_command_resolve_seconds_count 1');
    expect(await lines(rig)).toContain(
      'tidemark_command_resolutions_total{kind="place",result="applied",evidence="stream"} 1',
    );
  });

  it('show halts by their scope', async () => {
    const rig = await CommandRig.leading();
    await rig.during(rig.commands.operator.halt({ kind: 'service' }, word));
    expect(await lines(rig)).toContain('tidemark_placing_halted{scope="service"} 1');
    await rig.during(rig.commands.operator.resume({ kind: 'service' }, word));
    expect(await lines(rig)).toContain('tidemark_placing_halted{scope="service"} 0');
  });
});
