import { randomBytes } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/runtime/clock.ts';
import { readAll } from '../support/kafka-fixture.ts';
import { onServer } from '../support/on-server.ts';
import { eventually } from '../support/poll.ts';
import { control, runningSandbox } from '../support/sandbox.ts';
import { nothingWrong, platformOf, type RunningService, World } from '../support/service-under-test.ts';

/** The lease after which a standby takes over, as the tests set it. */
const leaseMs = 2_000;

/** A login of the service's role, as a setting: who wrote a row is then told by the database itself. */
async function loginFor(world: World, name: string): Promise<{ login: string; settings: { DATABASE_URL: string } }> {
  const login = `${name}_${randomBytes(6).toString('hex')}`;
  await onServer(world.databaseUrl, (client) =>
    client.query(`create role ${login} login password '${login}' in role tidemark_app`),
  );
  onTestFinished(async () => {
    await onServer(world.databaseUrl, (client) => client.query(`drop role ${login}`));
  });
  const url = new URL(world.databaseUrl);
  url.username = login;
  url.password = login;
  return { login, settings: { DATABASE_URL: url.href } };
}

const isOurs = ({ msg }: { msg: string }) => msg === 'the lane is ours';

function untilPublished(service: RunningService, least: number): Promise<number> {
  return service.waitMetric('tidemark_publish_records_total', { topic: 'updates', outcome: 'acknowledged' }, least);
}

it('a frozen holder is succeeded by the standby, and writes nothing when it wakes', async () => {
  const { description } = await runningSandbox({ market: { rate: 300, openOrders: 200, knownOrders: 300 } });
  const world = await World.create({ platform: platformOf(description) });
  await world.query('alter table order_updates add column written_by text default session_user');
  const [first, second] = [await loginFor(world, 'first'), await loginFor(world, 'second')];

  const holder = await world.serve(first.settings);
  await holder.waitLive();
  const standby = await world.serve(second.settings);
  await standby.awaitLog('standing by', ({ msg }) => /standing by/.test(msg));
  expect(standby.process.log().filter(isOurs)).toEqual([]);
  expect((await standby.status()).lane).toMatchObject({ state: 'standby' });

  holder.process.signal('SIGSTOP');
  const frozenAt = systemClock.monotonicMs();
  await standby.awaitLog('the lane', isOurs);
  await untilPublished(standby, 100);
  await systemClock.sleep(2 * leaseMs - (systemClock.monotonicMs() - frozenAt));
  holder.process.signal('SIGCONT');
  await holder.awaitLog('the loss of the lane', ({ msg }) => msg === 'the lane was taken by another process; standing by');
  const published = await untilPublished(standby, 0);
  await untilPublished(standby, published + 100);
  expect((await holder.status()).lane).toMatchObject({ state: 'standby' });
  expect(holder.process.log().filter(isOurs), 'it never took the lane back').toHaveLength(1);

  // The log's own order is the order of the commits: the first writer, then the second, and never the first again.
  expect(await writers(world)).toEqual([first.login, second.login]);
  await control(description, '/rate', { rate: 0 });
  await standby.waitLive();
  expect(await world.settledProof(description)).toMatchObject(nothingWrong);
  await expectStateTopicNeverFalls(world);
  expect([await standby.stop(), await holder.stop()]).toEqual([0, 0]);
}, 120_000);

/** Who wrote the log, in its order, neighbours that are the same named once. */
async function writers(world: World): Promise<string[]> {
  const rows = await world.query<{ by: string }>(
    `select written_by as by from (select seq, written_by, lag(written_by) over (order by seq) as before from order_updates) as log
     where before is distinct from written_by order by seq`,
  );
  return rows.map(({ by }) => by);
}

/** A late repeat would survive compaction: on the state topic, an order's revisions only rise, whoever writes, and end at the stored one. */
function expectStateTopicNeverFalls(world: World): Promise<void> {
  return eventually(
    async () => {
      const newest = new Map<string, number>();
      for (const { key, value = '{}' } of await readAll(world.brokers, world.topics.state)) {
        const { revision } = JSON.parse(value) as { revision: number };
        if (revision < (newest.get(key) ?? 0)) throw new FallenError(`${key} fell to revision ${revision} on the state topic`);
        newest.set(key, revision);
      }
      const stored = await world.query<{ key: string; revision: number }>(
        `select stream || ':' || order_id as key, revision::int from orders`,
      );
      expect(stored.filter(({ key, revision }) => newest.get(key) !== revision)).toEqual([]);
    },
    { everyMs: 500, giveUp: (error) => error instanceof FallenError },
  );
}

class FallenError extends Error {}
