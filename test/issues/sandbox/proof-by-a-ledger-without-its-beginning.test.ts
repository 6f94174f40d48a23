// What a user saw: The demo's proof passed on a ledger whose beginning had been deleted.

import type { Pool } from 'pg';
import { expect, it } from 'vitest';
import { proveCommands } from '../../../src/demo/proof/prove-commands.ts';
import { proveRun } from '../../../src/demo/proof/prove-run.ts';

const control = 'http://127.0.0.1:1';
const truncated = '{"kind":"truncated","firstSeq":7}\n';
const unproven = "the ledger's beginning was deleted: nothing before line 7 is proven";
const pool = { query: async () => ({ rows: [] }) } as unknown as Pool;

it('says what is not proven, and counts no event for it', async () => {
  const event = '{"seq":7,"at":"2026-11-22T20:00:00.000000Z","kind":"event","outcome":"sent"}\n';
  const answer = async (url: unknown) => new Response(String(url).includes('/ledger') ? truncated + event : '');
  const proof = await proveRun(
    { pool, fetch: answer as typeof fetch, counts: undefined },
    { control, accounts: new Set() },
  );
  expect(proof).toMatchObject({ observations: 1, faults: [unproven] });
});

it('passes no verdict on commands', async () => {
  await expect(proveCommands({ pool, fetch: async () => new Response(truncated) }, control)).rejects.toThrow(unproven);
});
