import { describe, expect, it } from 'vitest';
import { simulatedContract } from './journal-contract.ts';
import { fence, newPlace, sending } from './journal-fixtures.ts';
import { JournalViolation } from './journal-rules.ts';
import { ScriptedOrders } from './journaled-orders.ts';
import { MemoryJournal } from './memory-journal.ts';

async function held(orders = new ScriptedOrders()): Promise<MemoryJournal> {
  const journal = new MemoryJournal(orders);
  await journal.takeOver(fence, 0, 0);
  return journal;
}

describe('the journal in memory', () => {
  simulatedContract(async () => {
    const orders = new ScriptedOrders();
    const journal = await held(orders);
    return {
      show: async (order, place, matches = true) => {
        const revision = (orders.readOrder(order.stream, order.orderId)?.revision ?? 0) + 1;
        const { attemptId = '', commandId = '' } = place ?? {};
        const before = orders.readOrder(order.stream, order.orderId)?.order.commandId;
        const owner = place !== undefined && matches ? { commandId } : { commandId: before };
        orders.add({ revision, sourceEpoch: 0, cause: 'stream', order: { ...owner, ...order, origin: 'external' } });
        if (place !== undefined) orders.bind({ attemptId, commandId, orderId: order.orderId, matches });
      },
      journal,
      evidenceOf: async (commandId) => journal.evidenceOf(commandId),
      events: async () =>
        journal.events.map(({ command: { commandId, version, state } }) => ({ commandId, version, state })),
      [Symbol.asyncDispose]: async () => undefined,
    };
  });

  it('names what it forbids, and has changed nothing', async () => {
    const journal = await held();
    const { commandId, attempts } = await sending(journal);
    const attempt = { attemptId: attempts[0]?.attemptId ?? '', from: 'sending', to: 'unknown' } as const;
    const step = { commandId, version: 1, to: 'open', atMs: 1, evidence: [], attempt, nextAttemptId: 'tm-2' } as const;
    await expect(journal.step(step, fence)).rejects.toThrow(JournalViolation);
    expect((await journal.find(commandId))?.version).toBe(1);
  });

  it('fails as its hook says: before anything happened, or behind the commit', async () => {
    const journal = await held();
    journal.hook = async () => Promise.reject(new Error('unreachable'));
    await expect(journal.open(newPlace(), fence)).rejects.toThrow('unreachable');
    expect(journal.commands.size).toBe(0);
    journal.hook = async (_operation, transact) => {
      transact();
      throw new Error('the answer was lost');
    };
    await expect(journal.open(newPlace(), fence)).rejects.toThrow('lost');
    expect(journal.commands.size).toBe(1);
  });
});
