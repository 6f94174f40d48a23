import { expect, it } from 'vitest';
import { consumersAnswer, historyAnswer } from '../../src/contract/pipeline-answers.ts';
import { type StatusDocument, statusAnswer } from '../../src/contract/status-answer.ts';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { withAdmin } from '../../src/service/log/with-admin.ts';
import { scopes } from '../../src/service/rest/auth/principal.ts';
import { control, runningSandbox } from '../support/platform/sandbox.ts';
import { call } from '../support/rest/rest-call.ts';
import { sha256 } from '../support/rest/rest-rig.ts';
import { eventually } from '../support/runs/poll.ts';
import { type RunningService, World } from '../support/runs/service-under-test.ts';
import { kafkaDeps, kafkaOptions } from '../support/servers/kafka-fixture.ts';

const everything = 'a-token-of-every-account';
const own = 'a-token-of-one-account';
const ownAccount = 'SIM-1001';
const otherAccount = 'SIM-1002';

const tokens = [
  `desk:${sha256(everything)}:${scopes.join(',')}:*`,
  `narrow:${sha256(own)}:${scopes.join(',')}:${ownAccount}`,
].join(' ');

async function read(service: RunningService, path: string, token = everything) {
  const { status, body } = await call(service, 'GET', path, { token });
  expect([path, status]).toEqual([path, 200]);
  return body;
}

const statusOf = (service: RunningService, token?: string): Promise<StatusDocument> =>
  read(service, '/v1/status', token);
const doubtsOf = ({ trust }: StatusDocument) => trust.doubts.map(({ name }) => name);

/** Until the doubts are exactly these. */
function untilDoubts(service: RunningService, wanted: readonly string[], token?: string): Promise<StatusDocument> {
  return eventually(
    async () => {
      const status = await statusOf(service, token);
      if (doubtsOf(status).join() !== wanted.join()) throw new Error(JSON.stringify(status.trust));
      return status;
    },
    { deadlineMs: 60_000, everyMs: 100 },
  );
}

it('operators see over REST whether to trust the service, its last minutes and its consumers, each for its own accounts', async () => {
  const { description } = await runningSandbox({ market: { rate: 50, openOrders: 20, knownOrders: 40 } });
  const world = await World.create({
    platform: platformSettings(description),
    env: { TIDEMARK_AUTH_TOKENS: tokens, TIDEMARK_HTTP_ORIGINS: 'https://desk.example.com' },
  });
  const service = await world.serve();
  await service.waitLive();
  const well = await untilDoubts(service, []);
  expect(statusAnswer.parse(well)).toEqual(well);
  expect(well.trust.trusted).toBe(true);

  // A halt of one account, and a change of it whose events its stream loses: in doubt for those who
  // see the account, and for no others.
  const halt = { token: everything, body: { reason: 'a drill' } };
  expect((await call(service, 'POST', `/v1/accounts/${otherAccount}/halt`, halt)).status).toBe(200);
  await control(description, '/rate', { rate: 0 });
  const lose = { on: 'event', fault: 'silent_loss', stream: 'account', accountId: otherAccount, times: 1000 };
  await control(description, '/faults', { rules: [lose] });
  await control(description, '/orders', { stream: 'account', accountId: otherAccount });
  const doubted = await untilDoubts(service, ['halted', 'silent_losses']);
  expect(doubted.silentLossesLastHour).toBeGreaterThan(0);
  const narrow = await untilDoubts(service, [], own);
  expect(JSON.stringify(narrow)).not.toContain(otherAccount);
  expect([...new Set(narrow.accounts.map(({ account }) => account))]).toEqual([ownAccount]);

  // The admin port has the same document.
  const shown = await service.status();
  expect([shown.trust.trusted, shown.silentLossesLastHour]).toEqual([false, doubted.silentLossesLastHour]);

  const history = await eventually(
    async () => {
      const found = await read(service, '/v1/history', own);
      if (found.samples.length === 0) throw new Error('no sample yet');
      return found;
    },
    { deadlineMs: 60_000, everyMs: 500 },
  );
  expect(historyAnswer.parse(history)).toEqual(history);
  const newest = history.samples.at(-1).at;
  expect(
    (await read(service, `/v1/history?since=${newest}`)).samples.every(({ at }: { at: string }) => at > newest),
  ).toBe(true);

  const groupId = `${world.topics.watermarks}.late`;
  const commit = { groupId, topic: world.topics.watermarks, partitions: [{ partition: 0, offset: '0' }] };
  await eventually(() => withAdmin(kafkaDeps, kafkaOptions(world.brokers), (admin) => admin.setOffsets(commit)), {
    deadlineMs: 60_000,
    everyMs: 200,
  });
  const consumers = await eventually(
    async () => {
      const found = await read(service, '/v1/consumers', own);
      if (found.items.length === 0) throw new Error('not shown yet');
      return found;
    },
    { deadlineMs: 60_000, everyMs: 500 },
  );
  expect(consumersAnswer.parse(consumers)).toEqual(consumers);
  expect(consumers.items).toMatchObject([{ groupId, topics: [{ topic: world.topics.watermarks, uncommitted: 0 }] }]);
  expect(Number(consumers.items[0].topics[0].lag)).toBeGreaterThan(0);

  const page = await fetch(`${await service.restAddress()}/v1/halts`, {
    headers: { origin: 'https://desk.example.com', authorization: `Bearer ${own}` },
  });
  expect([page.status, page.headers.get('access-control-allow-origin')]).toEqual([200, 'https://desk.example.com']);

  // Its successor's accounts never become live, since no subscription is answered any more: it does
  // not say that all is well.
  await control(description, '/faults', {
    rules: [{ on: 'subscribe', fault: 'no_ack', stream: 'account', times: 100_000 }],
  });
  await service.stop();
  const successor = await world.serve();
  await eventually(async () => expect(doubtsOf(await statusOf(successor))).toContain('account_not_live'), {
    everyMs: 100,
  });
});
