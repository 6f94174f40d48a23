// What a user saw: One cancel of an order never seen before made `tidemark command ls` list nothing at all.

import { expect, it } from 'vitest';
import { runProgram } from '../../../src/cli/program.ts';
import { commandAnswer } from '../../../src/contract/rest-answers.ts';
import { sampleCommand } from '../../support/commands/scripted-commands.ts';
import { cliIo } from '../../support/rest/cli-io.ts';
import { ask, startRest } from '../../support/rest/rest-rig.ts';

const unseen = {
  revision: 0,
  sourceEpoch: 0,
  status: 'unknown',
  working: { quantity: '0' },
  cumQty: '0',
  pendingAction: 'none',
} as const;

// Found by hand: the cancel of an order that was never seen had the baseline 0, which REST told and
// its own schema forbade. One such command, and `tidemark command ls` showed none.
it('a cancel of an order that was never seen is told as the schema says, and listed with the others', async () => {
  const rig = await startRest();
  const request = { kind: 'cancel', stream: 'account', accountId: 'ACC-1', orderId: 'nobody-knows' } as const;
  rig.reads.commands = [
    { command: sampleCommand({ request, state: 'refused', orderId: 'nobody-knows', baseline: unseen }), evidence: [] },
  ];
  const { body } = await ask(`${rig.address}/v1/commands`);
  const [told] = body['items'] as unknown[];
  expect(commandAnswer.safeParse(told)).toMatchObject({ success: true, data: { baseline: { revision: 0 } } });
  const io = cliIo({ TIDEMARK_URL: rig.address });
  await runProgram(io, ['command', 'ls']);
  await rig.server.drain(new AbortController().signal);
  expect([io.code(), io.err()]).toEqual([0, '']);
  expect(io.out()).toContain('nobody-knows');
});
