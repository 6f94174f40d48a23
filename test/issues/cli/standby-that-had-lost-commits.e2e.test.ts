// What a user saw: `tidemark verify` at a standby that was behind said that the database lost commits.

import { expect, inject, it } from 'vitest';
import { runProgram } from '../../../src/cli/program.ts';
import { sampleUpdate } from '../../support/orders/sample-update.ts';
import { cliIo } from '../../support/rest/cli-io.ts';
import { freshTopics, logPublisher } from '../../support/servers/kafka-fixture.ts';
import { onServer } from '../../support/servers/on-server.ts';
import { withStandby } from '../../support/servers/with-standby.ts';

it('a standby without a commit that Kafka has is named as a standby; the primary without it lost it', async () => {
  await using servers = await withStandby();
  await onServer(servers.primaryUrl, (client) => client.query('create table of_this_test ()'));
  await servers.caughtUp();
  const brokers = inject('kafkaBrokers');
  const topics = await freshTopics(brokers);
  const { publisher } = logPublisher(brokers, { updates: topics.state });
  await publisher.publish([{ topic: 'updates', key: 'account:o-1', payload: sampleUpdate({ orderId: 'o-1' }) }]);
  await publisher.close();
  const audit = async (url: string, ...flags: string[]) => {
    const io = cliIo({
      DATABASE_URL: url,
      KAFKA_BROKERS: brokers.join(','),
      TIDEMARK_TOPIC_PREFIX: topics.updates.replace(/tidemark\.order-updates\.v1$/, ''),
    });
    await runProgram(io, ['verify', '--state-only', '--wait', '1', ...flags]);
    return { code: io.code(), out: io.out() };
  };
  const standby = await audit(servers.standbyUrl);
  expect(standby).toMatchObject({ code: 75, out: expect.stringContaining('This server is a standby.') });
  expect(standby.out).not.toContain('lost commits');
  expect(JSON.parse((await audit(servers.standbyUrl, '--json')).out)).toMatchObject({
    standby: { replayedAt: expect.stringMatching(/Z$/) },
    findings: [{ hop: 'standby', key: 'account:o-1' }],
  });
  expect(await audit(servers.primaryUrl)).toMatchObject({ code: 1, out: expect.stringContaining('lost commits') });
});
