// What a user saw: Single commands read thousands of rows each, and other readers waited for them.

import { expect, it, onTestFinished } from 'vitest';
import { commandId, sampleCommand } from '../../support/commands/scripted-commands.ts';
import { ask, startRest } from '../../support/rest/rest-rig.ts';

/** Orders that the command's evidence names; each has changed so often. */
async function shown(orders: number, changes: number) {
  const rig = await startRest({ readGate: { maxRows: 10_000, maxRowsPerPrincipal: 10_000 } });
  onTestFinished(() => rig.server.drain(AbortSignal.abort()));
  const ids = Array.from({ length: orders }, (_, at) => `o-${at}`);
  for (const orderId of ids) rig.reads.addUpdate({ orderId, revision: changes });
  const [payload = ''] = rig.reads.updates.map((update) => update.payload);
  const revised = (revision: number) => JSON.stringify({ ...JSON.parse(payload), revision });
  const command = sampleCommand({ state: 'applied', orderId: 'o-0' });
  const evidence = ids.map(
    (orderId, at) => ({ number: at + 1, kind: 'read', code: 'found', detail: { orderId }, atMs: 0 }) as const,
  );
  rig.reads.commands = [{ command, evidence }];
  const read = { rows: 0, charged: 0 };
  rig.reads.history = async (_scope, stream, orderId, above, limit) => {
    const first = above + 1;
    const rows = Math.max(0, Math.min(limit, changes - above));
    read.rows += changes - above;
    read.charged = (await rig.metrics.rest.readRows.get()).values[0]?.value ?? 0;
    const update = { seq: 1n, stream, orderId, accountId: 'ACC-1', recordedAt: new Date(0) };
    return Array.from({ length: rows }, (_, at) => ({ ...update, revision: first + at, payload: revised(first + at) }));
  };
  const { status, body } = await ask(`${rig.address}/v1/commands/${commandId}`);
  expect(status).toBe(200);
  return { ...read, complete: (body['recomputed'] as { readonly complete: boolean }).complete };
}

it.each([
  [1, 3, true],
  [1, 400, true],
  [4, 100, true],
  [1, 20_000, false],
  [4, 20_000, false],
  [9, 1, false],
])(
  '%d orders that changed %d times cost at most what was charged, and no more than 500 changes',
  async (orders, changes, complete) => {
    const read = await shown(orders, changes);
    expect(read.rows).toBeLessThanOrEqual(500);
    expect(read.charged).toBeGreaterThanOrEqual(read.rows);
    expect(read.complete).toBe(complete);
  },
);
