import { randomBytes } from 'node:crypto';
import type { Client } from 'pg';
import { inject } from 'vitest';
import { eventually } from '../runs/poll.ts';
import { onServer, withDatabase } from './on-server.ts';
import { turnedForms, turnSettings } from './turned-settings.ts';

export interface TestDatabase extends AsyncDisposable {
  readonly name: string;
  /** Connection URL as the owner. */
  readonly url: string;
  /**
   * Drops it. Rejects, after dropping, when somebody was still
   * connected: a leaked pool fails the test.
   */
  drop(): Promise<void>;
}

/** A migrated database of the caller's own, copied by files: by the log it takes twice as long. */
export function freshDatabase(): Promise<TestDatabase> {
  return create(`template ${inject('postgresTemplate')} strategy file_copy`);
}

/** An empty database of the caller's own, for tests of the migration itself. */
export function emptyDatabase(): Promise<TestDatabase> {
  return create('');
}

async function create(like: string): Promise<TestDatabase> {
  const name = `t_${randomBytes(8).toString('hex')}`;
  const server = inject('postgresUrl');
  await onServer(server, async (client) => {
    await client.query(`create database ${name} ${like}`);
    await client.query(turnSettings(name, turnedForms));
  });
  const drop = () => dropDatabase(server, name);
  return { name, url: withDatabase(server, name), drop, [Symbol.asyncDispose]: drop };
}

async function dropDatabase(server: string, name: string): Promise<void> {
  const leaked = await onServer(server, async (client) => {
    // A closed connection takes a moment to vanish from the server's list.
    const left = await eventually(() => noneConnected(client, name), { deadlineMs: 2_000 }).catch(
      (error: Error) => error,
    );
    await client.query(`drop database if exists ${name} with (force)`);
    return left;
  });
  if (leaked instanceof Error) throw leaked;
}

async function noneConnected(client: Client, name: string): Promise<void> {
  const { rows } = await client.query<{ application_name: string; state: string; query: string }>(
    // Autovacuum's worker comes and goes by itself.
    "select application_name, state, query from pg_stat_activity where datname = $1 and backend_type = 'client backend'",
    [name],
  );
  if (rows.length > 0)
    throw new Error(`${rows.length} connections to the test's database were leaked: ${JSON.stringify(rows)}`);
}
