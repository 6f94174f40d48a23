import { describe, expect, it } from 'vitest';
import { encodeRow } from '../../../src/sandbox/exchange/encode-row.ts';
import { encodeEvent, encodeEventData } from '../../../src/sandbox/stream/client-message.ts';
import { parseJson } from '../../../src/venue/parse-json.ts';
import {
  accountOrderEventData,
  accountOrderItem,
  accountOrderStatuses,
} from '../../../src/venue/platform/wire/account-order.ts';
import { predictionOrder, predictionStates } from '../../../src/venue/platform/wire/prediction-order.ts';
import { eventEnvelope } from '../../../src/venue/platform/wire/stream-messages.ts';
import { book } from '../../support/platform/book.ts';

// The specification's own field tables, word for word.
const eventFields =
  'ordId clOrdId symbol side type timeInForce qty stopPrice price ordStatus cumQty leavesQty avgPrice securityType category updatedAt'.split(
    ' ',
  );
const predictionFields =
  'orderId accountId symbol outcome side orderType timeInForce quantity workingQuantity state cumQty leavesQty avgPx createdAt updatedAt certainty certaintyReason clOrdId clientOrderRef closedAt expireTime firstAckAt pendingAction price stopPx rejectReason rejectText sentAt venueOrderId version workingOrderType workingPrice placedBy'.split(
    ' ',
  );
const requiredFields = predictionFields.slice(0, predictionFields.indexOf('certainty'));
const decimal = /^(0|[1-9]\d*)(\.\d*[1-9])?$/;
const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

function emitted(steps: number, stream: 'account' | 'prediction') {
  const rows: {
    event: Record<string, unknown>;
    item: Record<string, unknown>;
    envelope: unknown;
    text: string;
    version: bigint;
  }[] = [];
  const it = book({ predictionShare: stream === 'prediction' ? 1 : 0 });
  it.onChange(({ order }) => {
    const data = encodeEventData(order);
    const text = encodeEvent(order, data);
    rows.push({
      event: parseJson(data) as Record<string, unknown>,
      item: parseJson(encodeRow(order)) as Record<string, unknown>,
      envelope: parseJson(text),
      text,
      version: order.version,
    });
  });
  for (let i = 0; i < steps; i += 1) it.market.step();
  return rows;
}

describe('account orders on the wire', () => {
  const rows = emitted(4000, 'account');

  it('have the fields of the specification and no other, on events and in lists', () => {
    for (const { event, item, envelope } of rows) {
      accountOrderEventData.parse(event);
      accountOrderItem.parse(item);
      eventEnvelope.parse(envelope);
      expect(eventFields).toEqual(expect.arrayContaining(Object.keys(event)));
      expect(Object.keys(item)).toEqual([...Object.keys(event), 'accountId', 'createdAt']);
    }
  });

  it('leave out price and stopPrice where the type has none, and nothing else', () => {
    for (const { event } of rows) {
      const type = String(event['type']);
      expect('price' in event).toBe(type.endsWith('LIMIT'));
      expect('stopPrice' in event).toBe(type.startsWith('STOP'));
      const optional = new Set(['price', 'stopPrice']);
      expect(Object.keys(event)).toEqual(expect.arrayContaining(eventFields.filter((field) => !optional.has(field))));
    }
  });

  it('show every status of the contract but none other, in canonical decimals and instants', () => {
    const statuses = new Set(rows.map(({ event }) => event['ordStatus']));
    expect([...statuses].sort()).toEqual([...accountOrderStatuses].sort());
    for (const { event } of rows) {
      for (const field of ['qty', 'cumQty', 'leavesQty', 'avgPrice', 'price', 'stopPrice'])
        if (field in event) expect(event[field]).toMatch(decimal);
      expect(event['updatedAt']).toMatch(instant);
    }
  });
});

describe('prediction orders on the wire', () => {
  const rows = emitted(4000, 'prediction');

  it('have the fields of the specification and no other, and always the required ones', () => {
    for (const { event, item, envelope } of rows) {
      expect(Object.keys(item)).toEqual(expect.arrayContaining(requiredFields));
      predictionOrder.parse(item);
      eventEnvelope.parse(envelope);
      expect(item).toEqual(event);
      expect(predictionFields).toEqual(expect.arrayContaining(Object.keys(item)));
    }
  });

  it('always show avgPx, which is required: 0 until the first fill and never afterwards', () => {
    expect(rows.some(({ item }) => item['cumQty'] === '0')).toBe(true);
    for (const { item } of rows) {
      expect(item['avgPx']).toMatch(decimal);
      expect(item['avgPx'] === '0').toBe(item['cumQty'] === '0');
    }
  });

  it('leave optional decimals and instants out when absent, and never write a zero for them', () => {
    for (const { item } of rows) {
      expect('closedAt' in item).toBe(['filled', 'canceled', 'rejected', 'expired'].includes(String(item['state'])));
      for (const field of ['price', 'stopPx', 'workingPrice']) expect(item[field]).not.toBe('0');
    }
  });

  it('carry their version as a number with all its digits, beyond 2^53 too', () => {
    for (const { text, version } of rows) expect(text).toContain(`"version":${version},`);
    expect(rows.some(({ version }) => version > 2n ** 53n)).toBe(true);
    expect(rows.every(({ version }) => version < 2n ** 63n)).toBe(true);
  });

  it('show every state of the specification', () => {
    const states = new Set(rows.map(({ item }) => item['state']));
    expect([...states].sort()).toEqual([...predictionStates].sort());
  });
});

it('texts that need escaping are escaped', () => {
  const { exchange, market, account } = book();
  const terms = { ...market.inventor.invent('prediction', account, 0), clientOrderRef: 'a"b\\c\u0000\ud800é' };
  const order = exchange.open(terms, 'opened');
  expect(JSON.parse(encodeRow(order)).clientOrderRef).toBe(terms.clientOrderRef);
});
