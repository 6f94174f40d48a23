import { execFileSync } from 'node:child_process';
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
  sandbox: { control: 'http://127.0.0.1:41141', stream: 'account', predictionSymbol: 'RAIN' },
} as unknown as DemoStack;

/** A line as `sh` runs it: each command with its words, by the stub that stands for the program. */
function commandsOf(line: string): string[] {
  const stubs = ['npx', 'curl', 'kcat', 'grep'].map((name) => `${name}() { printf '%s\\n' "${name} $*" >&3; };`);
  const said = execFileSync('sh', ['-euc', `exec 3>&1; ${stubs.join(' ')} ${line}`], {
    env: { DATABASE_URL: 'given' },
  });
  return said.toString().split('\n').slice(0, -1).sort();
}

describe('where to look next', () => {
  it('has lines that can be copied as they are: each runs the programs that it shows, with no further words', () => {
    const lines = whereToLook({ ...stack, databaseGiven: true })
      .split('\n')
      .filter((line) => line.startsWith('  '));
    expect(lines.flatMap(commandsOf)).toEqual([
      'npx tidemark status --url http://127.0.0.1:46167',
      'npx tidemark tail --stream prediction',
      'npx tidemark verify',
      'kcat -b 127.0.0.1:21604 -t demo-1.tidemark.order-updates.v1 -C -o beginning -f %k %s\\n',
      'curl -s http://127.0.0.1:46167/metrics',
      'grep tidemark_latency',
      'curl -s http://127.0.0.1:39497/docs',
      'curl -sN http://127.0.0.1:39497/v1/stream',
      'npx tidemark command ls --unresolved --url http://127.0.0.1:39497',
      'curl -s -X POST http://127.0.0.1:41141/faults -H content-type: application/json -d {"stream":{"duplicate":0.2,"reorder":0.2,"silent_loss":0.05}}',
      'curl -s http://127.0.0.1:41141/',
    ]);
  });

  describe('issue: The demo named commands beside a line without the address that they need.', () => {
    it('names a command of REST beside an address of REST, and one of the database beside a database', () => {
      const beside = (command: string) =>
        whereToLook(stack)
          .split('\n')
          .find((line) => line.includes(command)) ?? '';
      for (const command of ['dead-letters ls', 'backfill SIM-1001'])
        expect(beside(command), command).toContain(`--url ${stack.restAddress}`);
      expect(beside('token ls')).toContain('DATABASE_URL=');
    });
  });

  it('names the stream of the venue', () => {
    const sandbox = { ...stack.sandbox, stream: 'alpaca_paper', predictionSymbol: undefined } as const;
    expect(whereToLook({ ...stack, sandbox })).toContain('npx tidemark tail --stream alpaca_paper\n');
  });

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
