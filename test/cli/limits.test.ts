import { describe, expect, it } from 'vitest';
import { restServer, runAgainst } from '../support/rest/rest-answers.ts';
import { json } from '../support/servers/http-server.ts';

const items = [
  { bounds: { maxQuantity: '10000' }, changedBy: 'olga', reason: 'for all', changedAt: '2026-11-21T15:00:00.000Z' },
  {
    principal: 'robot',
    accountId: 'ACC-1',
    bounds: { allowedSymbols: ['AAPL', 'MSFT'] },
    changedBy: 'olga',
    reason: 'the strategy',
  },
];

describe('limits', () => {
  it('set sends what is named, and shows what is in force', async () => {
    const rest = await restServer((_request, response) => json(response, 200, { items }));
    const line =
      'limits set --account ACC-1 --principal robot --max-quantity 5.5 --allowed-symbols AAPL,MSFT --orders-per-minute 60';
    const { code, out } = await runAgainst(rest.url, [
      ...line.split(' '),
      '--clear',
      'max-notional,collar-percent',
      '--reason',
      'asked',
    ]);
    expect(rest.received.map(({ method, path, body }) => [method, path, JSON.parse(body)])).toEqual([
      [
        'PATCH',
        '/v1/limits',
        {
          principal: 'robot',
          accountId: 'ACC-1',
          bounds: {
            maxNotional: null,
            collarPercent: null,
            maxQuantity: '5.5',
            allowedSymbols: ['AAPL', 'MSFT'],
            ordersPerMinute: 60,
          },
          reason: 'asked',
        },
      ],
    ]);
    expect([code, out.split('\n')]).toEqual([
      0,
      [
        'PRINCIPAL  ACCOUNT  LIMIT           BOUND      BY    REASON',
        '*          *        maxQuantity     10000      olga  for all',
        'robot      ACC-1    allowedSymbols  AAPL,MSFT  olga  the strategy',
        '',
      ],
    ]);
  });

  it('ls shows them, or that there are none', async () => {
    const rest = await restServer((_request, response) => json(response, 200, { items: [] }));
    expect(await runAgainst(rest.url, ['limits', 'ls'])).toMatchObject({ code: 0, out: 'There are no limits.\n' });
  });

  it.each([
    [['--reason', 'x']],
    [['--max-quantity', '1']],
    [['--clear', 'everything', '--reason', 'x']],
    [['--max-open-orders', '-1', '--reason', 'x']],
  ])('set is a wrong call with %j', async (flags) => {
    expect(await runAgainst('http://127.0.0.1:1', ['limits', 'set', ...flags])).toMatchObject({ code: 64 });
  });
});
