import { expect, it } from 'vitest';
import { shardOf } from '../../src/domain/partition.ts';

// Stored in no row: another answer would leave accounts to two processes.
it.each([
  ['acct-1', 16, 14],
  ['acct-1', 4096, 3454],
  ['21', 16, 12],
  ['', 16, 9],
])('the shard of account "%s" among %d never changes', (account, count, shard) => {
  expect(shardOf(account, count)).toBe(shard);
});
