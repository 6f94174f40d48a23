import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { matches } from '../../../src/console/state/commands/command-row.ts';
import { filtersIn } from '../../../src/console/state/filter-address.ts';
import { filterOf, viewOf } from '../../../src/console/state/orders/blotter-view.ts';
import { rowOfListed } from '../../../src/console/state/orders/order-row.ts';
import { queryText } from '../../../src/console/state/rest.ts';
import { commandFilters, type Filters, nameOn, orderFilters } from '../../../src/contract/list-filters.ts';
import { manyCommands } from '../../support/commands/many-commands.ts';
import { readRig } from '../../support/orders/read-rig.ts';
import { McpRig } from '../../support/rest/mcp-rig.ts';
import { runAgainst } from '../../support/rest/rest-answers.ts';
import { ask, startRest } from '../../support/rest/rest-rig.ts';

// Every filter finds the same on each surface, in a real database: REST, the command line, an
// assistant's tools and the console.

const commandId = (number: number) => `00000000-0000-4000-8000-00000000000${number}`;

const orderCases: Readonly<Record<keyof typeof orderFilters, readonly [value: string, found: string]>> = {
  stream: ['account', 'a'],
  accountId: ['acct-2', 'b'],
  symbol: ['fed/cut', 'b'],
  status: ['filled', 'b'],
  open: ['true', 'ac'],
  side: ['sell', 'bc'],
  origin: ['tidemark', 'b'],
  since: ['2026-11-21T15:00:00Z', 'bc'],
  until: ['2026-11-21T15:00:00Z', 'a'],
  q: ['MINE-1', 'b'],
};

const commandCases: Readonly<Record<keyof typeof commandFilters, readonly [value: string, found: string]>> = {
  accountId: ['acct-2', '2'],
  kind: ['cancel', '2'],
  state: ['applied', '1'],
  unresolved: ['true', '23'],
  idempotencyKey: ['k-3', '3'],
  callerRef: ['mine-1', '1'],
  q: ['o-2', '2'],
};

const commands =
  manyCommands(`select ('${commandId(0).slice(0, -1)}' || i)::uuid as command_id, 'desk' as principal, 'k-' || i as idempotency_key, kind, 'prediction' as stream,
    account as account_id, 'S' as symbol, 'buy' as side,
    case kind when 'cancel' then json_build_object('kind', kind, 'stream', 'prediction', 'accountId', account, 'orderId', 'o-2')
      else json_build_object('kind', kind, 'stream', 'prediction', 'accountId', account, 'terms',
        '{"symbol":"S","outcome":"YES","side":"buy","orderType":"market","quantity":"1"}'::json) end as request,
    'mine-' || i as caller_ref, state, 'o-' || i as order_id, now() as created_at
  from (values (1, 'place', 'acct-1', 'applied'), (2, 'cancel', 'acct-2', 'unknown'), (3, 'place', 'acct-1', 'unknown')) as c(i, kind, account, state)`);

let address = '';
const running = new AsyncDisposableStack();
afterAll(() => running.disposeAsync());
beforeAll(async () => {
  const rig = running.use(await readRig());
  const times = { a: '2026-11-21T14:00:00Z', b: '2026-11-21T15:00:00Z', c: '2026-11-21T16:00:00Z' };
  await rig.store(
    { orderId: 'a', stream: 'account', symbol: 'AAPL', updatedAt: times.a },
    {
      ...{ orderId: 'b', accountId: 'acct-2', symbol: 'FED-CUT', status: 'filled', side: 'sell', updatedAt: times.b },
      ...{ leavesQty: '0', cumQty: '10', origin: 'tidemark', references: { callerRef: 'mine-1' } },
    },
    { orderId: 'c', symbol: 'NFP', status: 'partially_filled', side: 'sell_short', updatedAt: times.c },
  );
  await rig.pool.query('alter table orders disable trigger user');
  await rig.pool.query('alter table journal disable trigger user');
  for (const [orderId, at] of Object.entries(times))
    await rig.pool.query('update orders set updated_at = $2 where order_id = $1', [orderId, at]);
  await rig.pool.query(commands);
  const rest = await startRest({ ports: { reads: rig.reads } });
  running.defer(() => rest.server.drain(new AbortController().signal));
  ({ address } = rest);
});

interface Row {
  readonly orderId?: string;
  readonly commandId?: string;
}

/** The last character of each id. */
const named = (rows: readonly Row[]) =>
  rows
    .map((row) => (row.commandId ?? row.orderId ?? '').slice(-1))
    .toSorted()
    .join('');

async function rows(path: string): Promise<readonly never[]> {
  const { status, body } = await ask(`${address}${path}`);
  expect(status, path).toBe(200);
  return body['items'] as never[];
}

const cases = (filters: Filters, of: Readonly<Record<string, readonly [string, string]>>) =>
  Object.entries(filters).map(([name, filter]) => ({ name, filter, value: of[name]?.[0] ?? '', found: of[name]?.[1] }));

/** On for all but callers of REST: they are turned off, but for the filter under test. */
const turnedOff = (filters: Filters, tried: string) =>
  Object.entries(filters).filter(([name, { off }]) => off !== undefined && name !== tried);

describe.each([
  { list: 'orders', filters: orderFilters as Filters, of: orderCases },
  { list: 'commands', filters: commandFilters as Filters, of: commandCases },
])('the filters of $list', ({ list, filters, of }) => {
  it.each(cases(filters, of))('$name finds the same over REST, by a flag and by a tool', async (tried) => {
    const { name, filter, value, found } = tried;
    const isOn = filter.off !== undefined;
    const given = { [name]: value };
    expect(named(await rows(`/v1/${list}?${new URLSearchParams(given)}`)), 'REST').toBe(found);

    const flagOf = (each: string) =>
      `--${nameOn('flag', each, filters[each] ?? filter).replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    const flags = [
      ...turnedOff(filters, name).map(([each]) => flagOf(each)),
      ...(isOn ? [] : filter.takes === 'flag' ? [flagOf(name)] : [flagOf(name), value]),
    ];
    const verb = list === 'orders' ? 'orders' : 'command';
    const { code, out, err } = await runAgainst(address, [verb, 'ls', ...flags, '--json']);
    expect([code, err]).toEqual([0, '']);
    expect(named(JSON.parse(out) as Row[]), flags.join(' ')).toBe(found);

    const tool = await McpRig.start({ url: address });
    const input = Object.fromEntries([
      ...turnedOff(filters, name).map(([each, one]) => [nameOn('tool', each, one), true] as const),
      ...(isOn ? [] : [[nameOn('tool', name, filter), filter.takes === 'flag' ? true : value] as const]),
    ]);
    const { isError, text, data } = await tool.call(`list_${list}`, input);
    expect(isError, text).toBe(false);
    expect(named(data[list]), JSON.stringify(input)).toBe(found);
  });
});

/** The address of a screen of the console with this filter alone. */
const words = (name: string, value: string, filters: Filters) =>
  new URLSearchParams({ open: 'any', [nameOn('address', name, filters[name] ?? ({} as never))]: value });

it.each(cases(orderFilters, orderCases))(
  '$name finds the same orders in the console',
  async ({ name, value, found }) => {
    const fits = filterOf(viewOf(words(name, value, orderFilters)));
    const shown = (await rows('/v1/orders')).map((order) => rowOfListed(order, 1)).filter(fits);
    expect(named(shown)).toBe(found);
  },
);

it.each(cases(commandFilters, commandCases))('$name finds the same commands in the console', async (tried) => {
  const filters = filtersIn(commandFilters, words(tried.name, tried.value, commandFilters));
  expect(named(await rows(`/v1/commands${queryText(filters)}`))).toBe(tried.found);
  // A row that came by the stream may be one of which only the service knows whether it fits.
  for (const row of await rows('/v1/commands'))
    expect([tried.found?.includes(named([row])), undefined]).toContain(matches(row, filters));
});
