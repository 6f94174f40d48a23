import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { inject } from 'vitest';
import { eventually } from './poll.ts';

export interface TestDatabase extends AsyncDisposable {
  readonly name: string;
  /** Connection URL as the owner. */
  readonly url: string;
  /** Drops it. Rejects, after dropping, when somebody was still connected: a leaked pool fails the test. */
  drop(): Promise<void>;
}

/** A database of the caller's own. */
export async function freshDatabase(): Promise<TestDatabase> {
  const name = `t_${randomBytes(8).toString('hex')}`;
  await onServer((client) => client.query(`create database ${name}`));
  const drop = () => dropDatabase(name);
  return { name, url: databaseUrl(name), drop, [Symbol.asyncDispose]: drop };
}

async function dropDatabase(name: string): Promise<void> {
  const leaked = await onServer(async (client) => {
    // A closed connection takes a moment to vanish from the server's list.
    const left = await eventually(() => noneConnected(client, name), { deadlineMs: 2_000 }).catch((error: Error) => error);
    await client.query(`drop database if exists ${name} with (force)`);
    return left;
  });
  if (leaked instanceof Error) throw leaked;
}

async function noneConnected(client: Client, name: string): Promise<void> {
  const { rows } = await client.query<{ application_name: string; state: string; query: string }>(
    'select application_name, state, query from pg_stat_activity where datname = $1',
    [name],
  );
  if (rows.length > 0) throw new Error(`${rows.length} connections to the test's database were leaked: ${JSON.stringify(rows)}`);
}

async function onServer<T>(work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({
    connectionString: inject('postgresUrl'),
    connectionTimeoutMillis: 10_000,
    query_timeout: 60_000,
    application_name: 'test-support',
  });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

function databaseUrl(name: string): string {
  const url = new URL(inject('postgresUrl'));
  url.pathname = `/${name}`;
  return url.href;
}
