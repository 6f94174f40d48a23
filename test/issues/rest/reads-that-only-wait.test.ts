// What a user saw: A thousand GETs with `Prefer: wait` made every other caller's reads fail with 429.

import { expect, it, onTestFinished } from 'vitest';
import { commandId, sampleCommand } from '../../support/commands/scripted-commands.ts';
import { ask, startRest } from '../../support/rest/rest-rig.ts';
import { eventually } from '../../support/runs/poll.ts';

async function waiting() {
  const rig = await startRest({ readGate: { maxRows: 10, maxRowsPerPrincipal: 10, waitMs: 10 } });
  onTestFinished(() => rig.server.drain(AbortSignal.abort()));
  rig.reads.commands = [{ command: sampleCommand(), evidence: [] }];
  const news = Promise.withResolvers<undefined>();
  rig.commands.waitAnswer = () => news.promise;
  const show = () => ask(`${rig.address}/v1/commands/${commandId}`, { headers: { prefer: 'wait=30' } });
  const rows = async () => (await rig.metrics.rest.readRows.get()).values[0]?.value;
  return { rig, news, show, rows };
}

it('a read that waits for a command has no share of the reads meanwhile', async () => {
  const { rig, news, show, rows } = await waiting();
  const answers = Promise.all([show(), show(), show()]);
  await eventually(() => expect(rig.commands.waits).toHaveLength(3));
  expect(await rows()).toBe(0);
  expect((await ask(`${rig.address}/v1/orders`)).status).toBe(200);
  news.resolve(undefined);
  expect((await answers).map(({ status }) => status)).toEqual([200, 200, 200]);
  await eventually(async () => expect(await rows()).toBe(0));
});

it('and is answered 429 if there is no room for it after the wait', async () => {
  const { rig, news, show, rows } = await waiting();
  const answer = show();
  await eventually(() => expect(rig.commands.waits).toHaveLength(1));
  const page = Promise.withResolvers<{ items: [] }>();
  rig.reads.listCommands = () => page.promise;
  const other = ask(`${rig.address}/v1/commands`);
  await eventually(async () => expect(await rows()).toBe(50));
  news.resolve(undefined);
  const { status, headers, body } = await answer;
  expect([status, body['code'], headers.get('retry-after')]).toEqual([429, 'TOO_MANY_READS', '1']);
  page.resolve({ items: [] });
  expect((await other).status).toBe(200);
  await eventually(async () => expect(await rows()).toBe(0));
});
