import { describe, expect, it } from 'vitest';
import {
  harmText,
  type LedgerLine,
  recoveryText,
  type StoredChange,
  StreamHarm,
} from '../../../src/demo/break-it/stream-harm.ts';

const at = (second: number) => `2026-11-22T20:00:0${second}.000000Z`;

function change(seq: number, over: Partial<LedgerLine> = {}): LedgerLine {
  const ids = { stream: 'account', accountId: 'SIM-1001', orderId: 'o-1', order: { symbol: 'KO' } };
  return { seq, kind: 'change', step: 'fill', updatedAt: at(1), ...ids, ...over };
}

const event = (seq: number, of: number, result: string): LedgerLine => ({ seq, kind: 'event', change: of, result });

function row(over: Partial<StoredChange> = {}): StoredChange {
  return { stream: 'account', orderId: 'o-1', revision: 4, cause: 'stream', updatedAt: at(1), certain: true, ...over };
}

const harmOf = () => new StreamHarm(new Set(['SIM-1001']));

describe('what a fault of the stream did', () => {
  it('is nothing where a connection was sent the message, whatever became of the others', () => {
    const harm = harmOf();
    harm.takeLedger([change(1), event(2, 1, 'half_open'), event(3, 1, 'sent')]);
    expect(harm.harmed).toEqual([]);
  });

  it.each([
    ['silently_lost', 'its message was lost without a sign'],
    ['dropped', 'its message was lost, and then the connection broke'],
    ['half_open', 'changed, and the message did not arrive'],
    ['cut', 'changed while there was no connection'],
    ['sent_twice', 'its message came twice'],
  ])('%s: a change is harmed', (result, text) => {
    const harm = harmOf();
    harm.takeLedger([change(1), event(2, 1, result)]);
    expect(harm.harmed.map(harmText)).toEqual([`KO o-1: ${text}.`]);
    expect(harm.missing).toBe(1);
  });

  it('includes a change that no connection followed, and leaves out accounts that the service may not see', () => {
    const harm = harmOf();
    harm.takeLedger([change(1), change(2, { accountId: 'SIM-9001', orderId: 'o-2' })]);
    expect(harm.harmed.map(({ orderId, fate }) => [orderId, fate])).toEqual([['o-1', 'unheard']]);
  });

  it('waits for a message that is held back, until it is let go or lost', () => {
    const harm = harmOf();
    harm.takeLedger([change(1), event(2, 1, 'held'), change(3, { orderId: 'o-2' }), event(4, 3, 'held')]);
    expect(harm.harmed).toEqual([]);
    harm.takeLedger([event(5, 1, 'released'), event(6, 3, 'dropped')]);
    expect(harm.harmed.map(({ fate }) => fate)).toEqual(['late', 'dropped']);
  });
});

describe('what healed it', () => {
  it('is the first row of the order that is as new, and its cause is the evidence', () => {
    const harm = harmOf();
    harm.takeLedger([change(1, { updatedAt: at(3) }), event(2, 1, 'silently_lost')]);
    harm.takeRows([row({ updatedAt: at(2), revision: 4 }), row({ orderId: 'o-2', updatedAt: at(5) })]);
    expect(harm.missing).toBe(1);
    harm.takeRows([row({ updatedAt: at(4), revision: 5, cause: 'snapshot' }), row({ updatedAt: at(5), revision: 6 })]);
    expect(harm.missing).toBe(0);
    expect(harm.harmed.map(recoveryText)).toEqual(['KO o-1: found by reading the whole account (revision 5).']);
  });

  it('may have been read before the line of the ledger that it heals', () => {
    const harm = harmOf();
    harm.takeRows([row()]);
    harm.takeLedger([change(1), event(2, 1, 'sent_twice')]);
    expect(harm.harmed.map(recoveryText)).toEqual(['KO o-1: counted once (revision 4).']);
  });

  it('of an order that the platform cannot confirm is only a row that is certain', () => {
    const harm = harmOf();
    harm.takeLedger([change(1, { step: 'unknown_store_lost' }), event(2, 1, 'sent')]);
    harm.takeRows([row({ updatedAt: at(2), certain: false })]);
    expect(harm.missing).toBe(1);
    harm.takeRows([row({ updatedAt: at(3), revision: 6 })]);
    expect(harm.harmed.map(recoveryText)).toEqual(['KO o-1: confirmed again, with its new number (revision 6).']);
  });
});
