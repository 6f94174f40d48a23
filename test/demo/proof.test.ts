import type { Pool } from 'pg';
import { describe, expect, it } from 'vitest';
import { proveCommands } from '../../src/demo/proof/judge-commands.ts';

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

  async function proofOf(state: string, entries: readonly object[] = ledger) {
    const pool = { query: async () => ({ rows: [{ ...command, state }] }) } as unknown as Pool;
    const lines = entries.map((line) => `${JSON.stringify(line)}\n`).join('');
    return proveCommands({ pool, fetch: async () => new Response(lines) }, 'http://127.0.0.1:1');
  }

  // The proof counted the demo's own commands: one that a user resolved as
  // rejected, and that had landed, went unseen.
  it('a command that a person resolved as rejected, and that had landed, is a fault of the proof', async () => {
    const proof = await proofOf('rejected');
    expect(proof).toMatchObject({ commands: 1, resolved: 1, unresolved: 0, byState: { rejected: 1 } });
    expect(proof.faults).toEqual(['place c-1 (rejected): it took effect']);
  });

  it('a place at Alpaca is known by its client_order_id, also when it was sent twice', async () => {
    const at = '2026-11-30T20:00:00.000000Z';
    const sent = { kind: 'request', at, method: 'POST', url: '/v2/orders', body: '{"client_order_id":"tm-1"}' };
    const decided = { kind: 'decision', at, request: 1, decision: 'accepted', reference: 'tm-1' };
    const once = [
      { ...sent, seq: 1 },
      { ...decided, seq: 2 },
    ];
    expect((await proofOf('applied', once)).faults).toEqual([]);
    expect((await proofOf('applied', [...once, { ...sent, seq: 3 }])).faults).toEqual([
      'place c-1 (applied): 2 writes and 1 attempts that were sent',
      'place c-1 (applied): attempt tm-1 was written 2 times',
    ]);
  });

  it('the same command is no fault while it is resolved as the ledger says', async () => {
    expect((await proofOf('applied')).faults).toEqual([]);
  });
});
