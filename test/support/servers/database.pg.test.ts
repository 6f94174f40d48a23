import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { emptyDatabase, freshDatabase } from './database.ts';
import { onServer } from './on-server.ts';

describe('a fresh database', () => {
  it('belongs to one test', async () => {
    await using one = await freshDatabase();
    await using other = await freshDatabase();
    await onServer(one.url, (client) => client.query('create table mark (n int)'));
    await expect(onServer(other.url, (client) => client.query('select n from mark'))).rejects.toThrow(
      '"mark" does not exist',
    );
  });

  it('is migrated', async () => {
    await using database = await freshDatabase();
    const { rows } = await onServer(database.url, (client) => client.query('select count(*) as n from orders'));
    expect(rows).toEqual([{ n: '0' }]);
  });

  it('can be had empty', async () => {
    await using database = await emptyDatabase();
    await expect(onServer(database.url, (client) => client.query('select from orders'))).rejects.toThrow(
      '"orders" does not exist',
    );
  });

  it('fails the test that leaks a connection, and is dropped all the same', async () => {
    const database = await freshDatabase();
    const leaked = new Client({ connectionString: database.url, application_name: 'leaky' });
    leaked.on('error', () => undefined);
    await leaked.connect();
    await expect(database.drop()).rejects.toThrow('leaky');
    await expect(onServer(database.url, (client) => client.query('select 1'))).rejects.toThrow('does not exist');
  });
});
