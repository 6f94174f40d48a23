import { expect, it } from 'vitest';
import { manyCommands } from '../../support/commands/many-commands.ts';
import { batch, head, storeRig, update } from '../../support/orders/store-rig.ts';

const looks = {
  heads_of: { text: 'select key from public.heads_of($1)', table: 'orders', found: 'prediction:ord-7' },
  bindings_of: { text: 'select attempt_id from public.bindings_of($1)', table: 'attempts', found: 'tm-7' },
};

it.each(Object.entries(looks))('%s, planned while its tables were empty, reads by the key', async (name, look) => {
  await using rig = await storeRig();
  const session = await rig.rival();
  const { text, table, found } = look;
  const ask = () => session.query({ name, text, values: [[found, 'prediction:none', 'tm-none']] });
  // Empty, and known to be: of such a table a scan of the whole is the cheapest there is.
  await session.query('vacuum analyze orders, journal');
  for (let i = 0; i < 7; i += 1) expect((await ask()).rowCount).toBe(0);
  const ids = Array.from({ length: 500 }, (_, i) => `ord-${i}`);
  const rows = { heads: ids.map((id) => head(id, 1)), updates: ids.map((id) => update(id, 1)) };
  expect((await rig.store.applyBatch(batch(rig.epoch, 1, [], rows))).kind).toBe('committed');
  await session.query(`set session_replication_role = 'replica'`);
  await session.query(
    manyCommands(`select gen_random_uuid() as command_id, 'ann' as principal, i::text as idempotency_key, 'place' as kind, 'account' as stream, 'acct-1' as account_id,
      'AAPL' as symbol, 'buy' as side, '{}'::json as request, null::text as caller_ref, 'open' as state, null::text as order_id, now() as created_at from generate_series(1, 500) i`),
  );
  await session.query(`update journal set attempt_id = 'tm-' || idempotency_key`);
  await session.query('begin');
  expect((await ask()).rows).toEqual([{ [name === 'heads_of' ? 'key' : 'attempt_id']: found }]);
  const { rows: scans } = await session.query('select pg_stat_get_xact_numscans($1::regclass)::int as whole', [table]);
  expect(scans).toEqual([{ whole: 0 }]);
});
