import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { StreamedEvent } from '../../../src/store/orders/order-reads.ts';
import { EventReader } from '../../support/rest/event-reader.ts';
import { ask, type RestRigOptions, sha256, startRest } from '../../support/rest/rest-rig.ts';
import { eventually } from '../../support/runs/poll.ts';

let rig: Awaited<ReturnType<typeof startRest>>;
const readers: EventReader[] = [];
const quick = { pollEveryMs: 20, pollGapMs: 1 };
const stop = () => rig.server.drain(new AbortController().signal);
const start = async (options: RestRigOptions = {}) => {
  rig = await startRest({ stream: quick, ...options });
};

beforeEach(() => start());
afterEach(async () => {
  for (const reader of readers.splice(0)) reader.close();
  await stop();
});

async function open(query = '', headers: Record<string, string> = {}): Promise<EventReader> {
  const reader = await EventReader.open(`${rig.address}/v1/stream${query}`, headers);
  readers.push(reader);
  return reader;
}

/** An event of a transaction that ends now. */
function happen(kind: StreamedEvent['kind'], over: Partial<StreamedEvent> = {}): void {
  const { horizon: tx } = rig.reads;
  rig.reads.events.push({ tx, number: tx * 10n, kind, payload: `{"${kind}":"${tx}"}`, accountId: 'ACC-1', ...over });
  rig.reads.horizon += 1n;
}

const shown = (reader: EventReader) => reader.events.map(({ event, id }) => [event, id]);

describe('GET /v1/stream?events=', () => {
  it('carries results and halts beside updates, each with an id of both positions', async () => {
    happen('result');
    const reader = await open('?events=result,halt');
    happen('result');
    await reader.take(1);
    rig.reads.addUpdate();
    rig.server.wake();
    await reader.take(2);
    happen('halt');
    const events = await reader.take(3);
    expect(events.map(({ event }) => event)).toEqual(['result', 'update', 'halt']);
    expect([events[0]?.id, events[0]?.data]).toEqual(['0.101.1010', '{"result":"101"}']);
    expect(events[1]?.id).toMatch(/^1\.10[12]\.\d+$/);
    expect(events[2]?.id).toBe('1.102.1020');
  });

  it('goes on after the last id of each, without a hole and without a repeat', async () => {
    for (let i = 0; i < 450; i += 1) happen('result');
    rig.reads.addUpdate();
    rig.reads.addUpdate({ revision: 2 });
    const reader = await open('?events=result', { 'last-event-id': '1.102.1020' });
    await reader.take(448);
    expect(reader.events.filter(({ event }) => event === 'update')).toHaveLength(1);
    const results = reader.events.filter(({ event }) => event === 'result').map(({ data }) => data);
    expect(results).toEqual(Array.from({ length: 447 }, (_, i) => `{"result":"${103 + i}"}`));
  });

  it('begins with what happens from now on where the id is of a stream without events', async () => {
    happen('result');
    rig.reads.addUpdate();
    const reader = await open('?events=result&after=0');
    await reader.take(1);
    happen('result');
    await reader.take(2);
    expect(shown(reader)).toEqual([
      ['update', expect.stringMatching(/^1\.101\.0$/)],
      ['result', '1.101.1010'],
    ]);
  });

  it('leaves a stream without events as it is', async () => {
    const reader = await open('?after=0.50.1');
    happen('result');
    rig.reads.addUpdate();
    rig.server.wake();
    await reader.take(1);
    expect(shown(reader)).toEqual([['update', '1']]);
  });

  it('shows only the kinds, the account and the stream that were asked for, and a halt of the service to all', async () => {
    const one = await open('?events=halt&accountId=ACC-1');
    const two = await open('?events=result&stream=prediction');
    happen('result', { stream: 'account' });
    happen('result', { stream: 'prediction', accountId: 'ACC-2' });
    happen('halt', { accountId: 'ACC-2' });
    happen('halt', { accountId: 'ACC-1' });
    rig.reads.events.push({ tx: rig.reads.horizon, number: 1n, kind: 'halt', payload: '{}' });
    rig.reads.horizon += 1n;
    await one.take(2);
    await two.take(1);
    expect([shown(one), shown(two)]).toEqual([
      [
        ['halt', '0.103.1030'],
        ['halt', '0.104.1'],
      ],
      [['result', '0.101.1010']],
    ]);
  });

  it('needs ops:read for halts, and shows a token nothing of an account that it does not name', async () => {
    await stop();
    const token = 'a-token-of-one-account';
    const tokens = [{ name: 'desk', sha256: sha256(token), scopes: ['orders:read'] as const, accounts: ['ACC-2'] }];
    await start({ auth: { tokens } });
    const authorization = `Bearer ${token}`;
    const refused = await ask(`${rig.address}/v1/stream?events=result,halt`, { headers: { authorization } });
    expect([refused.status, refused.body['code']]).toEqual([403, 'INSUFFICIENT_SCOPE']);
    const reader = await open('?events=result', { authorization });
    happen('result');
    happen('halt', { accountId: 'ACC-2' });
    happen('result', { accountId: 'ACC-2' });
    await reader.take(1);
    expect(shown(reader)).toEqual([['result', '0.102.1020']]);
  });

  it('says that events were lost where they were deleted, or the id is of another database', async () => {
    rig.reads.eventFloor = 60n;
    const old = await open('?events=result', { 'last-event-id': '0.50.1' });
    const other = await open('?events=result', { 'last-event-id': '0.5000.1' });
    await old.take(1);
    await other.take(1);
    expect(old.events).toEqual([
      { event: 'reset', id: '0.100.0', data: '{"reason":"too_old","goingOnAfter":"0.100.0"}' },
    ]);
    expect(other.events).toMatchObject([{ event: 'reset', data: '{"reason":"unknown_id","goingOnAfter":"0.100.0"}' }]);
    happen('result');
    await other.take(2);
    expect(shown(other)[1]).toEqual(['result', '0.100.1000']);
  });

  it('goes on when the events could not be read for a while', async () => {
    const reader = await open('?events=result');
    rig.reads.failure = new Error('away');
    happen('result');
    happen('result');
    await eventually(() => expect(reader.events).toEqual([]));
    rig.reads.failure = undefined;
    await reader.take(2);
    expect(shown(reader)).toEqual([
      ['result', '0.100.1000'],
      ['result', '0.101.1010'],
    ]);
  });

  it.each(['1.2', '1.2.3.4', '1.x.3', '1.-2.3', '.1.2'])('refuses the id %j', async (id) => {
    const { status, body } = await ask(`${rig.address}/v1/stream?events=result`, { headers: { 'last-event-id': id } });
    expect([status, body['code']]).toEqual([400, 'INVALID_EVENT_ID']);
  });
});
