import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { freshDatabase } from './database.ts';

describe('a fresh database', () => {
  it('belongs to one test', async () => {
    await using one = await freshDatabase();
    await using other = await freshDatabase();
    await statement(one.url, 'create table mark (n int)');
    await expect(statement(other.url, 'select n from mark')).rejects.toThrow('relation "mark" does not exist');
  });

  it('fails the test that leaks a connection, and is dropped all the same', async () => {
    const database = await freshDatabase();
    const leaked = new Client({ connectionString: database.url, application_name: 'leaky' });
    leaked.on('error', () => undefined);
    await leaked.connect();
    await expect(database.drop()).rejects.toThrow('leaky');
    await expect(statement(database.url, 'select 1')).rejects.toThrow('does not exist');
  });
});

async function statement(url: string, text: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}
