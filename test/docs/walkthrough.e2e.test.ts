import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { commandEntries } from '../../src/cli/commands.ts';
import { buildProgram } from '../../src/cli/program.ts';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { withAdmin } from '../../src/service/log/with-admin.ts';
import { control, runningSandbox } from '../support/platform/sandbox.ts';
import { cliIo } from '../support/rest/cli-io.ts';
import { eventually } from '../support/runs/poll.ts';
import { World } from '../support/runs/service-under-test.ts';
import { kafkaDeps, kafkaOptions } from '../support/servers/kafka-fixture.ts';
import { prefixOf } from '../support/servers/topics.ts';
import { PageShell } from './page-shell.ts';

const page = resolve('docs/walkthrough.md');
/** What the page shows of a console: commands behind `$`, and what each printed. */
const block = /(?<=```console\n)[\s\S]*?(?=```)/g;

/**
 * What differs from run to run, as it stands on the page: as
 * long as it was, so that tables stay tables.
 */
function steady(text: string, topicPrefix: string): string {
  return (
    text
      .replaceAll(topicPrefix, '')
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '4f7c1d1e-1111-4222-8333-444455556666')
      .replace(/\b[0-9a-f]{64}\b/g, '7d'.repeat(32))
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '2026-11-21T15:00:00.000Z')
      .replace(/(?<=^|\s)\d\d:\d\d:\d\d\.\d{3}/gm, '15:00:00.000')
      .replace(/^\d\d:\d\d:\d\d (\S+) +[0-9a-f]{8} (?=r\d)/gm, '15:00:00 $1 55556666 ')
      .replace(/\b\d+ replicas?\b/g, '1 replica')
      // A quiet minute has no delays to show.
      .replace(
        /^[\d.]+ updates\/s; p50 \S+(?: ms)?, p99 \S+(?: ms)? to Kafka; (?:no heartbeat yet|heartbeat \d+ s ago)/gm,
        '0.4 updates/s; p50 4 ms, p99 9 ms to Kafka; heartbeat 3 s ago',
      )
      .replace(/\b\d+ rows? +(?:-|\d+ s)$/gm, '0 rows -')
      .replace(/\d+ orders and \d+ records/g, '10 orders and 29 records')
      .replace(/\d+ orders? read/g, '9 orders read')
      .replace(/\d+ updates? written/g, '3 updates written')
      .replace(/\d+ observations? on the way/g, '0 observations on the way')
      // Whether the service had anything under way just then, and whether the venue's word came
      // before the answer, is chance.
      .replace(/^waiting for records under way …\n/gm, '')
      .replace(/^(SIM-\d+ +prediction +\S+ +)applied /gm, '$1accepted')
      .replace(/(127\.0\.0\.1):\d{4,}/g, '$1:4600')
      .replace(/\b\d+(?:\.\d+)? (s|min|h|ms)\b/g, '3 $1')
  );
}

const unaligned = (text: string) => text.replace(/ {2,}/g, '  ');

it('docs/walkthrough.md shows what its commands print', async () => {
  const { description } = await runningSandbox({ market: { seed: 7, rate: 0, openOrders: 0, knownOrders: 8 } });
  const world = await World.create({ platform: platformSettings(description), env: { TIDEMARK_COMMANDS: 'on' } });
  const service = await world.serve();
  await service.waitLive();
  const topicPrefix = prefixOf(world.topics);
  const env = {
    ...platformSettings(description),
    DATABASE_URL: world.databaseUrl,
    KAFKA_BROKERS: world.brokers.join(','),
    TIDEMARK_TOPIC_PREFIX: topicPrefix,
    TIDEMARK_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
    TIDEMARK_LOG_LEVEL: 'error',
    TIDEMARK_URL: await service.restAddress(),
    TIDEMARK_ADMIN_PORT: new URL(await service.adminAddress()).port,
  };
  const topic = `${topicPrefix}risk.rebuild`;
  await withAdmin(kafkaDeps, kafkaOptions(world.brokers), async (admin) => {
    await admin.createTopics({ topics: [{ topic, numPartitions: 3 }], waitForLeaders: false });
    await eventually(() => admin.fetchTopicOffsets(topic));
  });
  await world.query(
    `insert into dead_letters (lane, batch, stream, account_id, order_id, reason, detail, raw, observed_at)
     select 0, 1, stream, account_id, order_id, 'bad_decimal', 'price: expected a decimal string, found 1e5', '{"price":1e5}', now() from orders
     where stream = 'account' order by account_id, order_id limit 2`,
  );
  const variables = { TOPIC: topic, STATE: world.topics.state };
  const shell = new PageShell({ env, variables, post: (path, body) => control(description, path, body) });
  const text = readFileSync(page, 'utf8');
  let filled = '';
  let from = 0;
  for (const found of text.matchAll(block)) {
    filled += text.slice(from, found.index);
    for (const [line] of found[0].matchAll(/^\$ .*/gm)) {
      const printed = steady(await shell.run(line.slice(2)), topicPrefix);
      filled += printed === '' ? `${line}\n` : `${line}\n${printed}\n`;
    }
    from = found.index + found[0].length;
  }
  filled += text.slice(from);
  // Ages change the width of columns; only a difference in words is one. To write the page: npx
  // vitest run -u --project e2e test/docs/walkthrough.e2e.test.ts
  if (unaligned(filled) !== unaligned(text)) await expect(filled).toMatchFileSnapshot(page);
}, 240_000);

/**
 * `demo` and `dev` run until a signal. docs/demo.md and docs/set-up.md show them;
 * `test/e2e/demo.e2e.test.ts` and `test/cli/doctor.e2e.test.ts` run them. `fleet` says more of
 * several processes: docs/operating.md shows it, `test/cli/fleet.pg.test.ts` runs it. `venue` needs
 * a recording: docs/repair.md has it, `test/cli/venue.test.ts` runs it.
 */
const shownElsewhere = ['demo', 'dev', 'fleet', 'mcp', 'venue'];

it('every command, and every command below one, is on the page with its output', async () => {
  const lines = [...readFileSync(page, 'utf8').matchAll(block)].flatMap(([text]) => [
    ...text.matchAll(/^\$ .*?tidemark (.*)/gm),
  ]);
  const run = lines.map(([, words = '']) => words);
  const missing: string[] = [];
  for (const { name } of commandEntries.filter((entry) => !shownElsewhere.includes(entry.name))) {
    const program = await buildProgram(cliIo(), [name]);
    const below = program.commands.find((it) => it.name() === name)?.commands ?? [];
    for (const path of below.length === 0 ? [name] : below.map((it) => `${name} ${it.name()}`))
      if (!run.some((words) => words.startsWith(path))) missing.push(path);
  }
  expect(missing).toEqual([]);
});
