import { describe, expect, it } from 'vitest';
import { encodeOrder, encodeUpdate, type UpdateParts } from '../../src/domain/encode-update.ts';
import type { Head } from '../../src/domain/head.ts';
import { equityView, predictionView } from '../support/orders/arbitrary-orders.ts';
import { throughStorage } from '../support/orders/observe.ts';

const head: Head = {
  order: { ...predictionView, origin: 'external' },
  revision: 7,
  sourceVersion: 9007199254740993n,
  join: {},
};

function encode(over: Partial<UpdateParts> = {}): Record<string, unknown> {
  const parts: UpdateParts = {
    head,
    orderJson: encodeOrder((over.head ?? head).order),
    generation: 1,
    cause: 'stream',
    occurredAt: head.order.updatedAt,
    observedAt: '2026-11-21T12:00:00.001Z',
    changed: ['status', 'cumQty'],
    ...over,
  };
  return JSON.parse(encodeUpdate(parts)) as Record<string, unknown>;
}

describe('an encoded update', () => {
  it('carries the identity, the change and the whole order', () => {
    expect(encode({ fill: { quantity: '1', price: '0.4', inferred: false } })).toEqual({
      eventId: `prediction:${predictionView.orderId}:7`,
      schema: 'tidemark.order-update.v1',
      generation: 1,
      stream: 'prediction',
      orderId: predictionView.orderId,
      accountId: 'acct-1',
      revision: 7,
      sourceVersion: '9007199254740993',
      cause: 'stream',
      occurredAt: '2026-11-21T12:00:00Z',
      observedAt: '2026-11-21T12:00:00.001Z',
      changed: ['status', 'cumQty'],
      fill: { quantity: '1', price: '0.4', inferred: false },
      order: { ...predictionView, origin: 'external' },
    });
  });

  it('leaves out what an order does not have', () => {
    const account: Head = { order: { ...equityView, origin: 'external' }, revision: 1, join: {} };
    const update = encode({ head: account, changed: [] });
    expect(update).not.toHaveProperty('sourceVersion');
    expect(update).not.toHaveProperty('sourceEpoch');
    expect(update).not.toHaveProperty('fill');
    expect(update['changed']).toEqual([]);
  });

  it('names the source epoch once the platform lost its store', () => {
    expect(encode({ head: { ...head, order: { ...head.order, sourceEpoch: 2 } } })['sourceEpoch']).toBe(2);
  });

  it('survives ids and texts with quotes, backslashes, control characters and lone surrogates', () => {
    const nasty = 'a"b\\c\u0000\n\u2028\ud800</script>';
    const order = { ...head.order, orderId: nasty, accountId: nasty, rejectText: nasty };
    const update = encode({ head: { ...head, order } });
    expect(update).toMatchObject({
      eventId: `prediction:${nasty}:7`,
      orderId: nasty,
      accountId: nasty,
      order: { rejectText: nasty },
    });
  });
});

describe('a stored head', () => {
  it('comes back as it was, with versions that a double cannot hold', () => {
    const rich: Head = { ...head, join: { openedAt: '2026-11-21T12:00:00Z' } };
    expect(throughStorage(rich)).toEqual(rich);
    const unversioned: Head = {
      order: { ...equityView, origin: 'tidemark', extra: { a: [1, null] } },
      revision: 2,
      join: {},
    };
    expect(throughStorage(unversioned)).toEqual(unversioned);
  });
});
