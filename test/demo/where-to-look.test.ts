import { describe, expect, it } from 'vitest';
import { whereToLook } from '../../src/demo/run-demo.ts';
import type { DemoStack } from '../../src/demo/start-stack.ts';

const databaseUrl = 'postgres://postgres:c4n4ry@127.0.0.1:29465/tidemark';
const stack = {
  databaseUrl,
  brokers: ['127.0.0.1:21604'],
  topicPrefix: 'demo-1.',
  topic: 'demo-1.tidemark.order-updates.v1',
  adminAddress: 'http://127.0.0.1:46167',
  restAddress: 'http://127.0.0.1:39497',
  sandbox: { control: 'http://127.0.0.1:41141' },
} as unknown as DemoStack;

describe('where to look next', () => {
  it('has a line for what needs the database, to be pasted as it is', () => {
    const text = whereToLook({ ...stack, databaseGiven: false });
    expect(text).toContain(
      `DATABASE_URL='${databaseUrl}' KAFKA_BROKERS=127.0.0.1:21604 TIDEMARK_TOPIC_PREFIX=demo-1. npx tidemark verify `,
    );
  });

  it('does not show the address of a database that was given: its password is somebody’s', () => {
    const text = whereToLook({ ...stack, databaseGiven: true });
    expect(text).not.toContain('c4n4ry');
    expect(text).toContain('DATABASE_URL="$DATABASE_URL" KAFKA_BROKERS=');
  });
});
