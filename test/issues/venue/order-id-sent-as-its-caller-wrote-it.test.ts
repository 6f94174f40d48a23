// What a user saw: A caller could reach other paths of the platform by an order id such as `../v2/users/me`.

import { describe, expect, it, onTestFinished } from 'vitest';
import type { Stream } from '../../../src/domain/order.ts';
import { getOrder } from '../../../src/venue/platform/platform-reads.ts';
import { CommandRig, failedLook, placeEquity, refused, workingOrder } from '../../support/commands/command-rig.ts';
import { writeDeps, writeTo } from '../../support/commands/order-writes.ts';
import { equityView, predictionView } from '../../support/orders/arbitrary-orders.ts';
import { noIds, outOfReachIds } from '../../support/orders/odd-ids.ts';
import { platformDeps } from '../../support/platform/platform-deps.ts';
import { json, scriptedServer } from '../../support/servers/http-server.ts';

const uuid = '7d9f0a52-4c1e-4a53-9d0e-0000000000ff';

/** What a caller may not ask the platform for: no id, or a part of another path on the way. */
const others = [
  ...outOfReachIds,
  '../../v2/users/me',
  '..',
  '.',
  '',
  'a/b',
  'a\\b',
  '%2e%2e',
  'a?b',
  'a#b',
  'a b',
  'a\nb',
  'a\u0000b',
  'ä',
  'x'.repeat(129),
];

function cancelOf(stream: Stream, orderId: string) {
  return { kind: 'cancel', stream, accountId: 'acct-1', orderId } as const;
}

// `DELETE /v1/orders/..%2F..%2Fv2%2Fusers%2Fme` reached the
// platform, under our bearer, as it was written.
describe('an id that no order can have', () => {
  it.each(others)('is not found, before anything is read, journaled or sent: %j', async (orderId) => {
    const rig = await CommandRig.leading();
    for (const stream of ['account', 'prediction'] as const)
      expect(await rig.declined(cancelOf(stream, orderId))).toBe('ORDER_NOT_FOUND');
    const replace = {
      ...cancelOf('prediction', orderId),
      stream: 'prediction',
      kind: 'replace',
      terms: { price: '0.5' },
    } as const;
    expect(await rig.declined(replace)).toBe('ORDER_NOT_FOUND');
    expect([rig.journal.commands.size, rig.entry.sent, rig.probes.asked]).toEqual([0, [], []]);
  });

  it('is one that is no UUID, of a prediction order', async () => {
    const rig = await CommandRig.leading();
    expect(await rig.declined(cancelOf('prediction', 'ord-1'))).toBe('ORDER_NOT_FOUND');
    expect(rig.probes.asked).toEqual([]);
  });

  // The client may send each id that the platform itself can show: the others stop here too.
  it.each([...outOfReachIds, ...noIds, ''])('never leaves the client of the platform: %j', async (orderId) => {
    const server = await scriptedServer((_request, response) => json(response, 500, {}));
    const { url } = server;
    onTestFinished(server.close);
    const deps = writeDeps();
    const signal = new AbortController().signal;
    const results = await Promise.all([
      writeTo(deps, url, { kind: 'cancel', stream: 'account', accountId: 'acct-1', orderId }, 'tm-1'),
      writeTo(deps, url, { kind: 'cancel', stream: 'prediction', accountId: 'acct-1', orderId }, 'tm-1'),
      writeTo(
        deps,
        url,
        { kind: 'replace', stream: 'prediction', accountId: 'acct-1', orderId, terms: { price: '0.5' } },
        'tm-1',
      ),
    ]);
    expect(results.map(({ kind }) => kind)).toEqual(['not_sent', 'not_sent', 'not_sent']);
    for (const stream of ['account', 'prediction'] as const)
      expect(await getOrder(platformDeps(url), url, stream, 'acct-1', orderId, signal)).toMatchObject({
        kind: 'failed',
        error: { sent: 'no', retryable: false },
      });
    expect(server.received).toEqual([]);
  });
});

describe('the cancel of an order that was never seen', () => {
  it('reads the order first, and is sent once that shows it on the account', async () => {
    const rig = await CommandRig.leading();
    rig.probes.answer = ({ id = '' }) => {
      rig.commit({ ...workingOrder, orderId: id });
      return rig.probes.complete(id);
    };
    const command = await rig.send(cancelOf('prediction', uuid));
    expect(command).toMatchObject({ state: 'accepted', baseline: { revision: 1, status: 'new' } });
    expect(rig.probes.asked).toMatchObject([{ kind: 'order', accountId: 'acct-1', id: uuid }]);
    expect(rig.entry.sent).toHaveLength(1);
  });

  it('is declined, and nothing sent, where the platform does not show it on that account', async () => {
    const rig = await CommandRig.leading();
    expect(await rig.declined(cancelOf('account', 'of-another'))).toBe('ORDER_NOT_FOUND');
    rig.probes.answer = ({ id = '' }) => {
      rig.commit({ ...equityView, orderId: id, origin: 'external', accountId: 'acct-2' });
      return rig.probes.complete(id);
    };
    expect(await rig.declined(cancelOf('account', 'of-another'))).toBe('ORDER_NOT_FOUND');
    expect([rig.journal.commands.size, rig.entry.sent]).toEqual([0, []]);
  });

  it('is told to come again where it cannot be read just now', async () => {
    const rig = await CommandRig.leading();
    rig.probes.answer = () => failedLook('unavailable');
    expect(await rig.submit(cancelOf('account', 'ord-7'))).toMatchObject({
      code: 'SOURCE_NOT_LIVE',
      retryAfterMs: 1_000,
    });
    rig.probes.answer = () => new Promise(() => {});
    expect(await rig.submit(cancelOf('account', 'ord-7'))).toMatchObject({ code: 'SOURCE_NOT_LIVE' });
    expect(rig.entry.sent).toEqual([]);
  });

  it('reads no more than the budget of such reads gives, whatever is asked for', async () => {
    const rig = await CommandRig.leading({ probes: { perSecond: 1, burst: 5 } });
    const codes = new Map<string, number>();
    for (let each = 0; each < 40; each += 1) {
      const result = await rig.submit(cancelOf('account', `random-${each}`));
      const code = result.kind === 'declined' ? result.code : result.kind;
      codes.set(code, (codes.get(code) ?? 0) + 1);
    }
    expect(rig.probes.asked.length).toBeLessThanOrEqual(6);
    expect(codes.get('RATE_LIMITED')).toBeGreaterThanOrEqual(34);
  });

  it('does not hold up the cancel of an order that was seen', async () => {
    const rig = await CommandRig.leading();
    rig.commit(workingOrder);
    rig.probes.answer = () => new Promise(() => {});
    const unseen = rig.commands.submit(rig.submission(cancelOf('prediction', uuid)));
    await rig.clock.advance(10);
    expect(await rig.send(cancelOf('prediction', workingOrder.orderId))).toMatchObject({ state: 'accepted' });
    await rig.during(unseen);
  });

  it('is answered by its key with the command that it made, whatever the platform shows by then', async () => {
    const rig = await CommandRig.leading();
    rig.commit({ ...predictionView, orderId: uuid, origin: 'external' });
    rig.entry.scripts.push({ result: refused(404) });
    const { commandId } = await rig.send(cancelOf('prediction', uuid), { idempotencyKey: 'mine' });
    const again = await rig.submit(cancelOf('prediction', uuid), { idempotencyKey: 'mine' });
    expect(again).toMatchObject({ kind: 'journaled', replayed: true, command: { commandId } });
  });
});

it('a place names no order, and asks for none', async () => {
  const rig = await CommandRig.leading();
  await rig.send(placeEquity);
  expect(rig.probes.asked).toEqual([]);
});
