import { describe, expect, it } from 'vitest';
import { streams } from '../../src/domain/order.ts';
import { ConsoleRig, eventOf, listedOf, updateOf } from '../support/rest/console-rig.ts';

async function started(prepare: (rig: ConsoleRig) => void = () => undefined) {
  const rig = new ConsoleRig();
  prepare(rig);
  await rig.state.start();
  await rig.settle();
  return rig;
}

const rowsOf = (rig: ConsoleRig) =>
  [...rig.state.orders.rows.values()].map(({ orderId, revision }) => `${orderId}:${revision}`);

describe('the session', () => {
  it('offers the streams of the venues that are followed, and all to a service that names none', async () => {
    const rig = await started((rig) => rig.rights.streams.push('alpaca_paper'));
    const offered = (of: ConsoleRig) => of.state.session.streamWords.map(([word]) => word);
    expect(offered(rig)).toEqual(['account', 'prediction', 'alpaca_paper']);
    const older = await started((rig) =>
      rig.answers.set('/v1/me', { status: 200, body: { ...rig.rights, streams: undefined } }),
    );
    expect(offered(older)).toEqual(streams);
  });

  it('opens at once where no token is needed', async () => {
    const rig = await started();
    expect(rig.state.session.state.value).toEqual({ kind: 'open', rights: rig.rights });
    expect(rig.streams).toHaveLength(1);
  });

  it('asks for a token, keeps a good one for the tab, and sends it in the header alone', async () => {
    const rig = await started((rig) => {
      rig.tokens = ['good'];
    });
    expect(rig.state.session.state.value).toEqual({ kind: 'signed-out' });
    expect(rig.streams).toHaveLength(0);
    expect(await rig.state.session.signIn('bad')).toBe('The service does not accept this token.');
    expect(rig.kept).toBeUndefined();
    expect(await rig.state.session.signIn(' good ')).toBeUndefined();
    await rig.settle();
    expect([rig.kept, rig.state.session.state.value.kind, rig.streams.length]).toEqual(['good', 'open', 1]);
    expect(rig.asked.filter(({ path }) => path.includes('good'))).toEqual([]);
    expect(rig.asked.at(-1)?.headers['authorization']).toBe('Bearer good');
  });

  it('forgets the token and everything that it showed when the stream says that it was revoked', async () => {
    const rig = await started((rig) => {
      rig.tokens = ['good'];
      rig.kept = 'good';
    });
    await rig.streams[0]?.send(`id: 1\n\n${eventOf(2)}`);
    expect(rowsOf(rig)).toEqual(['ord-1:1']);
    await rig.streams[0]?.send('id: 2\nevent: shutdown\ndata: {"reason":"token_revoked"}\n\n');
    expect(rig.state.session.state.value).toEqual({ kind: 'signed-out', why: 'The token was revoked.' });
    expect([rowsOf(rig), rig.kept]).toEqual([[], undefined]);
    await rig.pass(60_000);
    expect(rig.streams).toHaveLength(1);
  });
});

describe('orders that are over', () => {
  it('are read once, those that changed last first', async () => {
    const rig = await started((rig) =>
      rig.answers.set('/v1/orders?open=false&sort=-updatedAt&limit=500', {
        status: 200,
        body: { items: [listedOf(updateOf({ orderId: 'over', status: 'canceled', leavesQty: '0' }))] },
      }),
    );
    await rig.streams[0]?.send('id: 1\n\n');
    expect(rowsOf(rig)).toEqual([]);
    await rig.state.wantOthers();
    await rig.state.wantOthers();
    expect([rowsOf(rig), rig.state.otherOrders.value]).toEqual([['over:1'], { kind: 'all' }]);
    expect(rig.asked.filter(({ path }) => path.includes('open=false'))).toHaveLength(1);
  });
});

describe('the stream', () => {
  it('lets keys and frames have their turn while much of it waits, and takes every update', async () => {
    const rig = await started();
    await rig.streams[0]?.send('id: 1\n\n');
    const before = rig.turns;
    for (let id = 2; id < 12; id += 1) {
      rig.nowMs += 9;
      await rig.streams[0]?.send(eventOf(id, { orderId: `o-${id}` }));
    }
    expect([rig.turns - before, rowsOf(rig).length]).toEqual([10, 10]);
  });

  it('reads the open orders once the stream has a place, and resumes after a cut by its id', async () => {
    const rig = await started((rig) =>
      rig.answers.set('/v1/orders?open=true&limit=500', {
        status: 200,
        body: { items: [listedOf(updateOf({ orderId: 'listed' }))] },
      }),
    );
    const lists = () => rig.asked.filter(({ path }) => path.startsWith('/v1/orders?')).length;
    expect(lists()).toBe(0);
    await rig.streams[0]?.send('id: 10\nretry: 1000\n\n');
    expect([lists(), rowsOf(rig)]).toEqual([1, ['listed:1']]);
    await rig.streams[0]?.send(eventOf(11, { orderId: 'live' }));
    await rig.streams[0]?.cut();
    expect(rig.state.stream.state.value).toMatchObject({ kind: 'waiting' });
    await rig.pass(1_000);
    expect(rig.streams[1]?.lastEventId).toBe('11');
    await rig.streams[1]?.send(`id: 11\n\n${eventOf(12, { orderId: 'live', revision: 2 })}`);
    expect([lists(), rowsOf(rig), rig.state.stream.state.value.kind]).toEqual([1, ['listed:1', 'live:2'], 'live']);
  });

  it('takes events that come in any pieces', async () => {
    const rig = await started();
    for (const letter of `id: 1\r\n\r\n${eventOf(2, { orderId: 'ä', revision: 4 })}`)
      await rig.streams[0]?.send(letter);
    expect(rowsOf(rig)).toEqual(['ä:4']);
  });

  it('shows a reset, and reads everything anew when updates were skipped', async () => {
    const rig = await started();
    await rig.streams[0]?.send(`id: 1\n\n${eventOf(2, { orderId: 'old' })}`);
    rig.answers.set('/v1/orders?open=true&limit=500', {
      status: 200,
      body: { items: [listedOf(updateOf({ orderId: 'new' }))] },
    });
    await rig.streams[0]?.send('id: 90\nevent: reset\ndata: {"reason":"too_old","goingOnAfter":"90"}\n\n');
    expect([rig.state.reset.value?.reason, rowsOf(rig)]).toEqual(['too_old', ['new:1']]);
  });

  it('connects again when nothing comes for longer than the service is ever silent', async () => {
    const rig = await started();
    await rig.streams[0]?.send('id: 1\n\n');
    await rig.pass(41_000);
    await rig.pass(1_000);
    expect(rig.streams[1]?.lastEventId).toBe('1');
  });
});

describe('the doubts', () => {
  it('are those of the service; an answer that is missing is one, a right that the token lacks is none', async () => {
    const doubt = {
      name: 'halted',
      detail: 'placing is halted',
      since: null,
      runbook: 'PlacingHalted',
      link: '/v1/halts',
    };
    const rig = await started((rig) => {
      rig.answers.set('/v1/status', { status: 200, body: { trust: { trusted: false, doubts: [doubt] } } });
    });
    const shown = () => {
      const { doubts, complete } = rig.state.status.state.value;
      return [doubts?.map(({ name }) => name), complete];
    };
    expect(shown()).toEqual([['halted'], true]);
    rig.answers.set('/v1/status', { status: 403, body: {} });
    await rig.pass(2_000);
    expect(shown()).toEqual([[], false]);
    rig.answers.set('/v1/status', {
      status: 503,
      body: { code: 'STORE_UNAVAILABLE', detail: 'the database does not answer' },
    });
    await rig.pass(2_000);
    expect(shown()).toEqual([['service_silent'], false]);
  });
});

describe('rights', () => {
  it('decide which events are followed, and whether any are', async () => {
    const streamOf = (rig: ConsoleRig) => rig.asked.find(({ path }) => path.startsWith('/v1/stream'))?.path;
    expect(streamOf(await started())).toBe('/v1/stream?events=result,halt');
    expect(streamOf(await started((rig) => rig.rights.scopes.splice(0, 4, 'orders:read')))).toBe(
      '/v1/stream?events=result',
    );
    expect(streamOf(await started((rig) => rig.rights.scopes.splice(0, 4, 'ops:read')))).toBeUndefined();
  });

  it('bring steps of commands and changes of halts', async () => {
    const rig = await started();
    const seen: unknown[] = [];
    rig.state.results.add(({ commandId }) => seen.push(commandId), new AbortController().signal);
    rig.state.halts.add(({ haltId }) => seen.push(haltId), new AbortController().signal);
    await rig.streams[0]?.send(
      'id: 1.2.3\nevent: result\ndata: {"commandId":"c-1"}\n\nid: 1.2.4\nevent: halt\ndata: {"haltId":"h-1"}\n\n',
    );
    expect(seen).toEqual(['c-1', 'h-1']);
  });
});
