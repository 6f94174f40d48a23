// What a user saw: The second of two cancels was shown as rejected, and the order was cancelled all the same.

import { describe, expect, it } from 'vitest';
import { settleCommand } from '../../../src/domain/settle-command.ts';
import { cancelOf, commandOf, predictionOrder, replaceOf, updateAt } from '../../support/commands/settling.ts';

/**
 * Met by seed 641 of the simulator: two callers cancel one order. The venue refused the first
 * cancel before the second had left; the second, then accepted, was told that it was rejected, and
 * the order was canceled all the same.
 */
describe('a command whose order had another one pending before it was sent', () => {
  const sentMs = Date.parse('2026-11-21T14:30:00Z');
  const accepted = (request: Parameters<typeof commandOf>[0]) => {
    const command = commandOf(request);
    const attempts = command.attempts.map((attempt) => ({
      ...attempt,
      state: 'accepted' as const,
      sendingAtMs: sentMs,
    }));
    return { ...command, state: 'accepted' as const, attempts };
  };
  const seen = (revision: number, over: Parameters<typeof updateAt>[1], afterMs: number) => ({
    ...updateAt(revision, over),
    observedAtMs: sentMs + afterMs,
  });

  it.each([
    ['cancel', cancelOf(predictionOrder)],
    ['replace', replaceOf({ price: '0.44' })],
  ] as const)('is not rejected by the answer to that one (%s)', (pendingAction, request) => {
    const command = accepted(request);
    const others = [seen(6, { pendingAction }, -400), seen(7, { rejectText: 'no' }, -300)];
    expect(settleCommand({ command, updates: others })).toEqual({ kind: 'nothing' });
    const own = seen(8, { pendingAction }, 100);
    expect(settleCommand({ command, updates: [...others, own] })).toMatchObject({
      kind: 'reached',
      at: { revision: 8 },
    });
    const refused = seen(9, { rejectText: 'too late' }, 200);
    expect(settleCommand({ command, updates: [...others, own, refused] })).toMatchObject({ outcome: 'rejected' });
  });
});
