import type { Pool } from 'pg';
import { describe, expect, it } from 'vitest';
import { proveCommands } from '../../src/demo/proof/prove-commands.ts';

describe("issue: The demo's proof passed although a person had resolved an executed place as rejected.", () => {
  const attempts = [{ attemptId: 'tm-1', state: 'unknown', sendingAtMs: 1 }];
  const command = { commandId: 'c-1', kind: 'place', orderId: null, quantity: '5', attempts };
  const ledger = [
    {
      seq: 1,
      at: '2026-11-22T20:00:00.000000Z',
      kind: 'request',
      method: 'POST',
      url: '/v1/orders',
      body: '{"clientId":"tm-1","qty":"5"}',
    },
    {
      seq: 2,
      at: '2026-11-22T20:00:00.000000Z',
      kind: 'decision',
      request: 1,
      decision: 'accepted',
      reference: 'tm-1',
    },
  ];

  async function proofOf(state: string) {
    const pool = { query: async () => ({ rows: [{ ...command, state }] }) } as unknown as Pool;
    const lines = ledger.map((line) => `${JSON.stringify(line)}\n`).join('');
    return proveCommands({ pool, fetch: async () => new Response(lines) }, 'http://127.0.0.1:1');
  }

  // The proof counted the demo's own commands: one that a user resolved as
  // rejected, and that had landed, went unseen.
  it('a command that a person resolved as rejected, and that had landed, is a fault of the proof', async () => {
    const proof = await proofOf('rejected');
    expect(proof).toMatchObject({ commands: 1, resolved: 1, unresolved: 0, byState: { rejected: 1 } });
    expect(proof.faults).toEqual(['place c-1 (rejected): it took effect']);
  });

  it('the same command is no fault while it is resolved as the ledger says', async () => {
    expect((await proofOf('applied')).faults).toEqual([]);
  });
});
