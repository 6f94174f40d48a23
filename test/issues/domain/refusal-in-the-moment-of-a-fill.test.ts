// What a user saw: A refused cancel stayed open, since the order was filled in the same moment.

import { describe, expect, it } from 'vitest';
import { settleCommand } from '../../../src/domain/settle-command.ts';
import type { SettlingUpdate } from '../../../src/domain/settling.ts';
import { baseline, cancelOf, commandOf, equityOrder, updateAt } from '../../support/commands/settling.ts';

const { sourceVersion: _none, ...unversioned } = baseline;
const command = commandOf(cancelOf(equityOrder), { baseline: unversioned });
const at = (revision: number, over: object = {}) => updateAt(revision, over, equityOrder);
const pending = (revision: number, cumQty = '0') => at(revision, { pendingAction: 'cancel', cumQty });
const works = (revision: number, cumQty: string) => at(revision, { status: 'partially_filled', cumQty });
const judge = (...updates: SettlingUpdate[]) => settleCommand({ command, updates });

describe('a fill together with a refused cancel', () => {
  it('is a refusal where the platform has shown fills with the pending word', () => {
    expect(judge(pending(6), pending(7, '2'), works(8, '5'))).toMatchObject({
      outcome: 'rejected',
      evidence: { detail: { revision: 8 } },
    });
  });

  it('is none where the fill may have come before the pending word', () => {
    expect(judge(pending(6, '2'), works(7, '5'))).toMatchObject({ kind: 'reached' });
    expect(judge(pending(6), works(7, '2'), pending(8, '3'), works(9, '5'))).toMatchObject({ kind: 'reached' });
  });

  it('is none where a second cancel may have brought the pending word', () => {
    const updates = [pending(6), pending(7, '2'), works(8, '5')];
    const seen = { ...command, seenPendingAt: { revision: 6 } };
    expect(settleCommand({ command: seen, updates, rivals: true })).toEqual({ kind: 'nothing' });
  });

  it('is none where a late view has the time from before the clock was set back', () => {
    const before = { ...command, baseline: { ...unversioned, updatedAt: '2026-11-21T14:31:42.037Z' } };
    const fills = { ...pending(6, '2').order, updatedAt: '2026-11-21T14:30:02.198Z' };
    const late = { ...works(7, '2').order, updatedAt: '2026-11-21T14:31:42.041Z' };
    const updates = [
      { ...pending(6), order: fills },
      { ...works(7, '2'), order: late },
    ];
    expect(settleCommand({ command: before, updates })).toMatchObject({ kind: 'reached' });
    expect(settleCommand({ command, updates })).toMatchObject({ outcome: 'rejected' });
  });

  it('is none where a correction had taken back more fills than there are now', () => {
    const corrected = { ...works(7, '1'), cause: 'correction' };
    const before = { ...command, baseline: { ...unversioned, cumQty: '4' } };
    const updates = [pending(6, '4'), corrected, works(8, '2')];
    expect(settleCommand({ command: before, updates })).toMatchObject({ kind: 'reached' });
  });
});

it('judges an order of many fills by looking at each once', () => {
  let looks = 0;
  const counted = Array.from({ length: 2_000 }, (_, n) => {
    const update = works(n + 7, String(n + 1));
    const order = { ...update.order };
    const get = () => {
      looks += 1;
      return String(n + 1);
    };
    Object.defineProperty(order, 'cumQty', { get });
    return { ...update, order };
  });
  expect(judge(pending(6), ...counted)).toMatchObject({ kind: 'reached' });
  expect(looks).toBeLessThan(10 * counted.length);
});
