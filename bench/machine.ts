import { createRequire } from 'node:module';
import { cpus, loadavg, totalmem } from 'node:os';
import { onServer, type Stack } from './stack.ts';

export interface MachineFigures {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGb: number;
  /**
   * Processes that wanted a core in the minute before. Well below
   * 1, or the figures are somebody else's too.
   */
  readonly loadBefore: number;
  readonly versions: Readonly<Record<string, string>>;
  /** Of Postgres, as it has them. */
  readonly durability: Readonly<Record<string, string>>;
}

const load = createRequire(import.meta.url);

export async function describeMachine(stack: Stack): Promise<MachineFigures> {
  const settings = await onServer<{ name: string; setting: string }>(
    stack.postgres.url,
    `select name, setting from pg_settings where name in ('fsync', 'synchronous_commit', 'full_page_writes')`,
  );
  const versionOf = (name: string) => (load(`${name}/package.json`) as { version: string }).version;
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    loadBefore: Math.round((loadavg()[0] ?? 0) * 10) / 10,
    versions: {
      node: process.version,
      postgres: withoutAddress(stack.postgres.describe),
      kafka: withoutAddress(stack.kafka.describe),
      kafkajs: versionOf('kafkajs'),
      pg: versionOf('pg'),
      ws: versionOf('ws'),
    },
    durability: Object.fromEntries(settings.map(({ name, setting }) => [name, setting])),
  };
}

function withoutAddress(description: string): string {
  return description.split(', ').slice(0, 2).join(', ');
}
