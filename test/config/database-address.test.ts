import { expect, it } from 'vitest';
import { databaseAddressProblem } from '../../src/config/database-address.ts';

it.each([
  'postgres://db/tidemark',
  'postgres://app:pass,word@db:5432/tidemark',
  'postgresql://app@[::1]:5432/tidemark?sslmode=verify-full',
  'postgres://db/tidemark?target_session_attrs=read-write',
  'postgres://db/tidemark?target_session_attrs=primary',
  'no address at all',
])('takes %s', (address) => {
  expect(databaseAddressProblem(address)).toBeUndefined();
});

it.each([
  'postgres://one,two/tidemark',
  'postgres://app:secret@one:5432,two:5433/tidemark',
  'postgres:///tidemark?hostaddr=10.0.0.1,10.0.0.2',
  'postgres://one/tidemark?port=5432,5433',
])('refuses the list of hosts in %s', (address) => {
  expect(databaseAddressProblem(address)).toMatch(/^must name one host/);
  expect(databaseAddressProblem(address)).not.toContain('secret');
});

it.each(['any', 'read-only', 'standby', 'prefer-standby'])('refuses to be led to a server of the kind %s', (kind) => {
  expect(databaseAddressProblem(`postgres://db/tidemark?target_session_attrs=${kind}`)).toMatch(/takes no writes/);
});
