import { describe, expect, it } from 'vitest';
import { drawWith, stateRig } from '../../support/orders/state-rig.ts';
import { eventually } from '../../support/runs/poll.ts';

type Rig = Awaited<ReturnType<typeof stateRig>>;

const states = (rig: Rig) =>
  rig.rows<{ id: string; kept: boolean }>(
    'select order_id as id, state is not null as kept from orders order by order_id',
  );

/** Two orders with their newest update in the first partition, and one with newer ones. */
async function twoIdle(): Promise<Rig> {
  const rig = await stateRig();
  await rig.write(0, ['a', 'b', 'c'], 2);
  await rig.write(0, ['c'], 8);
  await rig.acknowledge();
  return rig;
}

describe('the newest state of an order', () => {
  it('is in the log alone, and is the same after its partition is gone', async () => {
    await using rig = await twoIdle();
    expect(await states(rig)).toEqual(['a', 'b', 'c'].map((id) => ({ id, kept: false })));
    await rig.expectStates();
    expect(await rig.move(100)).toBe(10);
    expect(await rig.move(100)).toBe(0);
    expect(await states(rig)).toEqual([
      { id: 'a', kept: true },
      { id: 'b', kept: true },
      { id: 'c', kept: false },
    ]);
    await rig.expectStates();
    expect(await rig.dropped()).toBe('order_updates_1');
    await rig.expectStates();
    await rig.write(0, ['a']);
    expect((await states(rig))[0]).toEqual({ id: 'a', kept: false });
    await rig.expectStates();
    expect(await rig.rows('select * from moved_states')).toEqual([]);
  });

  it('keeps its partition until it was moved, whoever asks for the drop', async () => {
    await using rig = await twoIdle();
    expect(await rig.drop()).toBeNull();
    for (const expected of [4, 4, 2]) {
      expect(await rig.move(4)).toBe(expected);
      if (expected === 4) expect(await rig.drop()).toBeNull();
    }
    expect(await rig.dropped()).toBe('order_updates_1');
    await rig.expectStates();
  });

  it('stays where it is when only the memory of the join changes, before the move and after it', async () => {
    await using rig = await twoIdle();
    await rig.remember(0, ['a'], '{"rank":7}');
    await rig.expectStates();
    await rig.move(100);
    await rig.remember(0, ['b'], '{"rank":8}');
    expect(await rig.dropped()).toBe('order_updates_1');
    await rig.expectStates();
    expect(
      await rig.rows("select join_state ->> 'rank' as rank from orders where order_id < 'c' order by order_id"),
    ).toEqual([{ rank: '7' }, { rank: '8' }]);
  });

  it('is found after an order went from lane to lane and back', async () => {
    await using rig = await stateRig();
    await rig.write(0, ['a', 'b']);
    await rig.write(1, ['a']);
    await rig.expectStates();
    await rig.write(0, ['c'], 8);
    await rig.acknowledge();
    while ((await rig.move(2)) > 0);
    expect(await rig.dropped()).toBe('order_updates_1');
    await rig.expectStates();
    await rig.write(1, ['a', 'b']);
    await rig.write(0, ['a']);
    await rig.expectStates();
  });
});

describe('moving states', () => {
  it.each([
    ['the first order', `if new.order_id = 'a' then raise exception 'stopped'; end if; return new`, 'update on orders'],
    [
      'the second order',
      `if new.order_id = 'b' then raise exception 'stopped'; end if; return new`,
      'update on orders',
    ],
    ['its own position', `raise exception 'stopped'`, 'insert on moved_states'],
  ])('begins again when it ends at %s', async (_, body, event) => {
    await using rig = await twoIdle();
    await rig.pool.query(`create function stop() returns trigger language plpgsql as $$ begin ${body}; end $$`);
    await rig.pool.query(`create trigger stop before ${event} for each row execute function stop()`);
    await expect(rig.move(100)).rejects.toThrow('stopped');
    expect(await states(rig)).toEqual(['a', 'b', 'c'].map((id) => ({ id, kept: false })));
    expect(await rig.drop()).toBeNull();
    await rig.expectStates();
    await rig.pool.query('drop function stop cascade');
    expect(await rig.move(100)).toBe(10);
    expect(await rig.dropped()).toBe('order_updates_1');
    await rig.expectStates();
  });

  it('does not wait for an order that another transaction holds, and comes back for it', async () => {
    await using rig = await twoIdle();
    const rival = await rig.rival();
    await rival.query("begin; update orders set join_state = '{}' where order_id = 'b'");
    expect(await rig.move(100)).toBe(10);
    expect(await states(rig)).toMatchObject([{ kept: true }, { kept: false }, { kept: false }]);
    expect(await rig.drop()).toBeNull();
    await rival.query('rollback');
    await rig.expectStates();
    expect(await rig.move(100)).toBeGreaterThan(0);
    expect(await rig.move(100)).toBe(0);
    expect(await rig.dropped()).toBe('order_updates_1');
    await rig.expectStates();
  });

  it('leaves an order alone that gets a newer update at that moment', async () => {
    await using rig = await twoIdle();
    const rival = await rig.rival();
    // Holds the mover between its look at the log and its write.
    await rival.query("begin; update orders set join_state = '{}' where order_id = 'a'");
    const writing = rig.write(0, ['a', 'b']);
    await rig.laneBlocked();
    expect(await rig.move(100)).toBe(10);
    await rival.query('rollback');
    await writing;
    await rig.expectStates();
    while ((await rig.move(100)) > 0);
    expect(await rig.dropped()).toBe('order_updates_1');
    await rig.expectStates();
    expect(await states(rig)).toEqual(['a', 'b', 'c'].map((id) => ({ id, kept: false })));
  });

  it('is done by one session at a time, and by any of them', async () => {
    await using rig = await twoIdle();
    const looked = await Promise.all(Array.from({ length: 4 }, () => rig.move(100)));
    expect(looked.filter((rows) => rows > 0)).toEqual([10]);
    expect(await rig.dropped()).toBe('order_updates_1');
    await rig.expectStates();
  });
});

it.each([1, 2, 3, 4])(
  'every read gives the newest payload whatever was written, moved and dropped, seed %i',
  async (seed) => {
    await using rig = await stateRig();
    const random = drawWith(seed);
    const ids = Array.from({ length: 12 }, (_, i) => `order-${i}`);
    let dropped = 0;
    for (let step = 0; step < 60; step += 1) {
      const lane = random.next() < 0.5 ? 0 : 1;
      const some = ids.filter(() => random.next() < 0.2);
      const what = random.next();
      if (what < 0.5 && some.length > 0) await rig.write(lane, some, 1 + Math.floor(random.next() * 2));
      else if (what < 0.6)
        await rig.remember(
          lane,
          some.filter((id) => rig.newest.has(id)),
          `{"step":${step}}`,
        );
      else if (what < 0.68) await rig.acknowledge();
      else if (what < 0.7) await rig.restart();
      else if (what < 0.9) await rig.move(1 + Math.floor(random.next() * 8));
      else if ((await rig.drop()) !== null) dropped += 1;
      if (step % 10 === 9) await rig.expectStates();
    }
    await rig.acknowledge();
    // A look of the server's own vacuum may keep a partition for a moment.
    await eventually(async () => {
      for (;;) {
        while ((await rig.move(100)) > 0);
        if ((await rig.drop()) === null) break;
        dropped += 1;
      }
      expect(dropped).toBeGreaterThan(2);
    });
    await rig.expectStates();
  },
);
