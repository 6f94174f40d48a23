import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, inject, it } from 'vitest';
import { eventually } from '../support/runs/poll.ts';
import { freshTopics, logPublisher } from '../support/servers/kafka-fixture.ts';

describe('the rule in docs/consuming.md', () => {
  it('takes each revision once, and says which ones it lost', async () => {
    const code = /```ts\n(.*?)```/s.exec(readFileSync('docs/consuming.md', 'utf8'))?.[1] ?? '';
    const brokers = inject('kafkaBrokers');
    const topics = await freshTopics(brokers);
    const { publisher } = logPublisher(brokers, topics);
    const record = (revision: number) => ({
      topic: 'updates' as const,
      key: 'account:o-1',
      payload: JSON.stringify({
        schema: 'tidemark.order-update.v1',
        revision,
        changed: ['cumQty'],
        order: { status: 'new', cumQty: String(revision) },
      }),
    });
    const foreign = ['', 'x', '{}'].map((payload) => ({ ...record(9), payload }));
    await publisher.publish([...foreign, ...[1, 2, 1, 2, 3, 6].map(record)]);
    await publisher.close();
    const env = { ...process.env, KAFKA_BROKERS: brokers.join(','), TOPIC: topics.updates, GROUP_ID: topics.updates };
    const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', code], { env });
    let said = '';
    let warned = '';
    child.stdout.on('data', (chunk) => {
      said += String(chunk);
    });
    child.stderr.on('data', (chunk) => {
      warned += String(chunk);
    });
    try {
      await eventually(() => expect(said).toContain('account:o-1 6'), { deadlineMs: 40_000 });
      expect(said.match(/account:o-1 \d+ new/g)).toEqual([1, 2, 3, 6].map((revision) => `account:o-1 ${revision} new`));
      expect(warned).toContain('account:o-1: lost 4 to 5');
      expect(warned.match(/not from Tidemark/g)).toHaveLength(3);
    } finally {
      child.kill('SIGKILL');
    }
  });
});
