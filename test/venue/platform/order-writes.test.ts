import { describe, expect, it } from 'vitest';
import { applicationsOf, writeFaults } from '../../../src/sandbox/faults/fault-shapes.ts';
import { enrolled, limitOrder, orderClient, predictionOrder } from '../../support/commands/order-entry.ts';
import { fixedToken, writeDeps, writeTo } from '../../support/commands/order-writes.ts';
import { control } from '../../support/platform/sandbox.ts';
import { eventually } from '../../support/runs/poll.ts';

async function client(input: Parameters<typeof orderClient>[0] = {}) {
  const stranger = await orderClient(input);
  const deps = writeDeps(fixedToken(stranger.headers.authorization.slice('Bearer '.length)));
  const { platform, staging } = stranger.at;
  return {
    stranger,
    deps,
    place: (over: object = {}) => {
      const { accountId, clientId, ...terms } = { ...limitOrder, clientId: 'a-1', ...over };
      return writeTo(deps, platform, { kind: 'place', stream: 'account', accountId, terms }, clientId);
    },
    cancel: (orderId: string) =>
      writeTo(deps, platform, { kind: 'cancel', stream: 'account', accountId: enrolled, orderId }, 'a-1'),
    placePrediction: (over: object = {}) => {
      const { accountId, clientOrderRef, ...terms } = { ...predictionOrder, clientOrderRef: 'a-1', ...over };
      return writeTo(deps, staging, { kind: 'place', stream: 'prediction', accountId, terms }, clientOrderRef);
    },
    replace: (orderId: string, terms: object) =>
      writeTo(deps, staging, { kind: 'replace', stream: 'prediction', accountId: enrolled, orderId, terms }, 'a-1'),
    cancelPrediction: (orderId: string) =>
      writeTo(deps, staging, { kind: 'cancel', stream: 'prediction', accountId: enrolled, orderId }, 'a-1'),
  };
}

describe('the client writes to the platform', () => {
  it('an equity order, and asks for its cancel', async () => {
    const { stranger, place, cancel } = await client();
    expect(await place()).toMatchObject({ kind: 'accepted', answer: { clOrdId: 'a-1', status: 'NEW', success: true } });
    const [{ ordId }] = await stranger.byReference('a-1');
    expect(await cancel(ordId)).toMatchObject({ kind: 'accepted', answer: { ordId, ordStatus: 'PENDING_CANCEL' } });
  });

  it('options with one leg and with several', async () => {
    const { place } = await client();
    const leg = { symbol: 'AAPL261218C00200000', side: 'BUY', ratioQty: '1', positionEffect: 'OPEN' };
    for (const legs of [[leg], [leg, { ...leg, symbol: 'AAPL261218C00210000', side: 'SELL' }]])
      expect(await place({ legs, price: '9', clientId: `legs-${legs.length}` })).toMatchObject({ kind: 'accepted' });
  });

  it('a prediction order, a replace and a cancel, each seen pending', async () => {
    const { stranger, placePrediction, replace, cancelPrediction } = await client();
    const placed = await placePrediction();
    expect(placed).toMatchObject({
      kind: 'accepted',
      answer: { state: 'pending_new', clientOrderRef: 'a-1', version: '1' },
    });
    const [{ orderId }] = await stranger.byReference('a-1');
    await eventually(async () => expect((await stranger.order('prediction', orderId)).state).toBe('new'));
    expect(await replace(orderId, { quantity: '20' })).toMatchObject({
      kind: 'accepted',
      answer: { pendingAction: 'replace' },
    });
    await eventually(async () => expect((await stranger.order('prediction', orderId)).pendingAction).toBe('none'));
    expect(await cancelPrediction(orderId)).toMatchObject({ kind: 'accepted', answer: { pendingAction: 'cancel' } });
  });

  it('and learns of a rejection by success, text and ordRejReason', async () => {
    const { place } = await client({ venue: { orderLimit: '1' } });
    const answer = {
      success: false,
      status: 'REJECTED',
      ordRejReason: 'INSUFFICIENT_BUYING_POWER',
      text: expect.any(String),
    };
    expect(await place()).toMatchObject({ kind: 'rejected', answer });
  });

  it('and is refused with the platform’s own code where nothing was done', async () => {
    const { stranger, place, cancel, placePrediction, replace, cancelPrediction } = await client();
    const id = await stranger.working();
    const refused = (status: number, code: string) => ({
      kind: 'refused',
      reason: { status, code },
    });
    expect(await place({ symbol: 'NOPE' })).toMatchObject(refused(400, 'INVALID_ORDER'));
    expect(await place({ accountId: 'nobody' })).toMatchObject(refused(403, 'FORBIDDEN'));
    expect(await cancel('nothing')).toMatchObject(refused(404, 'ORDER_NOT_FOUND'));
    expect(await placePrediction({ price: '2' })).toMatchObject(refused(400, 'INVALID_ORDER'));
    expect(await placePrediction({ accountId: 'SIM-1002' })).toMatchObject(refused(403, 'FORBIDDEN'));
    expect(await replace(id, { quantity: '10' })).toMatchObject(refused(400, 'INVALID_ORDER'));
    expect(await replace('7d9f0a52-4c1e-4a53-9d0e-000000000000', { quantity: '20' })).toMatchObject(
      refused(404, 'ORDER_NOT_FOUND'),
    );
    await stranger.verb(id, { action: 'cancel' });
    expect(await cancelPrediction(id)).toMatchObject(refused(409, 'ORDER_NOT_ACTIONABLE'));
  });

  it('and is told not sent by the documented 429 and 503 of prediction orders', async () => {
    const { stranger, placePrediction, replace, cancelPrediction } = await client();
    const id = await stranger.working();
    for (const [change, code] of [
      [{ session: 'down' }, 'ORDER_ENTRY_UNAVAILABLE'],
      [{ session: 'up', capacity: 0 }, 'ORDER_ENTRY_AT_CAPACITY'],
    ] as const) {
      await stranger.venue(change);
      for (const result of [await placePrediction(), await replace(id, { quantity: '20' }), await cancelPrediction(id)])
        expect(result).toMatchObject({ kind: 'not_sent', mayRepeat: true, reason: { code } });
    }
    expect(await stranger.byReference('a-1')).toEqual([]);
  });

  it('never what the specification does not accept', async () => {
    const { stranger, place, cancel, placePrediction, replace, cancelPrediction } = await client();
    const invalid = { kind: 'not_sent', mayRepeat: false, reason: { code: 'INVALID_REQUEST' } };
    for (const over of [
      { clientId: 'x'.repeat(51) },
      { clientId: undefined },
      { side: 'buy' },
      { surprise: 1 },
      { legs: [1, 2, 3, 4, 5] },
    ])
      expect(await place(over)).toMatchObject(invalid);
    for (const over of [
      { clientOrderRef: 'a b' },
      { clientOrderRef: undefined },
      { outcome: 'MAYBE' },
      { surprise: 1 },
    ])
      expect(await placePrediction(over)).toMatchObject(invalid);
    expect(await replace('x', { symbol: 'X' })).toMatchObject(invalid);
    for (const id of ['', '.', '..']) {
      expect(await replace(id, { quantity: '1' })).toMatchObject(invalid);
      expect(await cancel(id)).toMatchObject(invalid);
      expect(await cancelPrediction(id)).toMatchObject(invalid);
    }
    expect(await stranger.decisions()).toEqual([]);
  });
});

describe('the client judges every fault of a write as the table says', () => {
  const combinations = writeFaults.flatMap((fault) =>
    applicationsOf[fault].map((applied) => [fault, applied] as const),
  );

  it.each(combinations)(
    '%s, applied %s: what is not known is never called refused or not sent',
    async (fault, applied) => {
      const { stranger, place, placePrediction } = await client();
      await stranger.fault({ fault, applied, delayMs: 0, times: 2 });
      // A hanging answer ends by the cut of the healing.
      const healing = fault === 'hang' ? healWhenHanging(stranger.at, 2) : undefined;
      const [account, prediction] = await Promise.all([
        place({ clientId: 'acc' }),
        placePrediction({ clientOrderRef: 'pred' }),
      ]);
      await healing;
      const promised = fault === 'at_capacity' || fault === 'unavailable';
      const refused = fault === 'status_401';
      expect(account.kind).toBe(refused ? 'refused' : 'unknown');
      expect(prediction.kind).toBe(promised ? 'not_sent' : refused ? 'refused' : 'unknown');
      for (const reference of ['acc', 'pred']) {
        await eventually(async () =>
          expect(await stranger.byReference(reference)).toHaveLength(applied === 'no' ? 0 : 1),
        );
        const accepted = (await stranger.decisions()).filter(
          (line) => line.decision === 'accepted' && line.reference === reference,
        );
        expect(accepted).toHaveLength(applied === 'no' ? 0 : 1);
      }
    },
  );
});

async function healWhenHanging(at: Awaited<ReturnType<typeof orderClient>>['at'], count: number): Promise<void> {
  const { controlLines } = await import('../../support/platform/sandbox.ts');
  await eventually(async () => {
    const hanging = (await controlLines(at, '/ledger?kind=answer')).filter((line) => line.fault === 'hang');
    expect(hanging).toHaveLength(count);
  });
  await control(at, '/heal');
}
