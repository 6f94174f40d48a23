import { describe, expect, it } from 'vitest';
import type { OrderUpdate } from '../../types/records.d.ts';
import { sampleUpdate } from '../support/orders/sample-update.ts';
import { restServer, runAgainst } from '../support/rest/rest-answers.ts';
import { json } from '../support/servers/http-server.ts';

const first = JSON.parse(sampleUpdate({ status: 'new', cumQty: '0', leavesQty: '100' })) as OrderUpdate;
const second = JSON.parse(sampleUpdate({ revision: 2 })) as OrderUpdate;
const updates = [
  first,
  { ...second, changed: ['status', 'statusRaw', 'cumQty', 'updatedAt'], fill: { quantity: '40', inferred: true } },
];

function listed(over: Partial<OrderUpdate> = {}) {
  const { stream, orderId, accountId, revision, order } = { ...second, ...over };
  return { stream, orderId, accountId, revision, order: { ...order, stream, orderId } };
}

/** REST with these orders on its pages. */
async function run(argv: readonly string[], ...pages: readonly (readonly unknown[])[]) {
  const asked: string[] = [];
  const server = await restServer(({ path }, response) => {
    asked.push(path);
    const url = new URL(path, 'http://x');
    if (url.pathname.endsWith('/updates'))
      return json(response, 200, { items: updates, recordedAt: updates.map(() => '2026-11-21T14:30:02.000Z') });
    const [, , , , id] = url.pathname.split('/');
    const one = pages.flat().find((order) => (order as { readonly orderId: string }).orderId === id);
    if (id !== undefined) return json(response, 200, one);
    const at = Number(url.searchParams.get('cursor') ?? 0);
    return json(response, 200, { items: pages[at] ?? [], ...(at + 1 < pages.length && { next: String(at + 1) }) });
  });
  return { ...(await runAgainst(server.url, ['orders', ...argv])), asked };
}

describe('orders ls', () => {
  it('lists open orders by their newest change, each with its whole id, and nothing that a terminal obeys', async () => {
    const { out, code, asked } = await run(['ls'], [listed({ accountId: 'ACC\u001b[2J' })]);
    expect([code, asked]).toEqual([0, ['/v1/orders?open=true&sort=-updatedAt&limit=50']]);
    const [heading, row] = out.split('\n').map((line) => line.split(/ {2,}/));
    expect(heading).toEqual(['CHANGED', 'ACCOUNT', 'INSTRUMENT', 'SIDE', 'STATUS', 'FILLED', 'PRICE', 'ORDER']);
    expect(row?.slice(1)).toEqual(['ACC?[2J', 'AAPL', 'buy', 'partially_filled', '40 of 100', '191.5', 'ord-1']);
  });

  it('names the stream beside the account where the same account may be at another venue', async () => {
    const streams = ['account', 'prediction', 'alpaca', 'alpaca_paper'] as const;
    const { out } = await run(
      ['ls'],
      streams.map((stream, n) => listed({ stream, orderId: `ord-${n}` })),
    );
    const accounts = out.split('\n').slice(1, 5);
    expect(accounts.map((line) => line.split(/ {2,}/)[1])).toEqual([
      ...['ACC-1', 'ACC-1', 'ACC-1 (alpaca)', 'ACC-1 (alpaca_paper)'],
    ]);
  });

  it('passes the filters on, goes on behind an empty page, and says that there are more', async () => {
    const flags = [
      '--all',
      '--account',
      'A',
      '--stream',
      'account',
      '--symbol',
      'AAPL',
      '--side',
      'buy',
      '--origin',
      'external',
    ];
    const { err, asked, out } = await run(
      ['ls', ...flags, '--find', 'a b', '--since', '2026-11-21', '--limit', '1', '--json'],
      [],
      [listed()],
      [],
    );
    const filter =
      'stream=account&accountId=A&symbol=AAPL&side=buy&origin=external&since=2026-11-21&q=a+b&sort=-updatedAt&limit=1';
    expect(asked).toEqual([`/v1/orders?${filter}`, `/v1/orders?${filter}&cursor=1`]);
    expect(err).toBe('There are more: raise --limit (1).\n');
    expect(JSON.parse(out)).toMatchObject([{ orderId: 'ord-1' }]);
  });

  it('takes a status of orders that are over without --all', async () => {
    const { out, asked } = await run(['ls', '--status', 'filled']);
    expect([out, asked]).toEqual(['No orders.\n', ['/v1/orders?status=filled&sort=-updatedAt&limit=50']]);
  });
});

describe('orders show', () => {
  it('prints the state, and what each change changed', async () => {
    const { out, code } = await run(['show', 'ord-1'], [listed({ orderId: 'ord-10' }), listed()]);
    expect(code).toBe(0);
    expect(out).toContain('order     account:ord-1\n');
    expect(out).toContain('filled    40 at 191.25 on average, 60 left\n');
    expect(out.split('\n').slice(-4, -1)).toEqual([
      'REVISION  HAPPENED                  SEEN BY  CHANGED',
      'r1        2026-11-21T14:30:01.000Z  stream   status new',
      'r2        2026-11-21T14:30:01.000Z  stream   status new → partially_filled, cumQty 0 → 40, filled 40 (inferred)',
    ]);
  });

  it('says that there is none, or that both streams have one', async () => {
    expect(await run(['show', 'ord-1'], [listed({ orderId: 'ord-10' })])).toMatchObject({
      code: 1,
      err: expect.stringContaining('there is no order ord-1, or this token may not see it'),
    });
    expect(await run(['show', 'ord-1'], [listed(), listed({ stream: 'prediction' })])).toMatchObject({
      code: 64,
      err: expect.stringContaining('Give --stream account or --stream prediction.'),
    });
  });

  it('takes the end of an id as tail shows it, unless several orders end so', async () => {
    const [one, two] = ['301c73d7-a906-427d-af06-725ff8476cec', '0b1c73d7-a906-427d-af06-725ff8476cec'];
    const { out } = await run(['show', 'f8476cec'], [listed({ orderId: one }), listed({ orderId: 'f8476cec-1' })]);
    expect(out).toContain(`account:${one}\n`);
    expect(await run(['show', 'f8476cec'], [listed({ orderId: one }), listed({ orderId: two })])).toMatchObject({
      code: 64,
      err: expect.stringContaining('several orders end with f8476cec'),
    });
  });

  it('says that the program is of another version', async () => {
    expect(await run(['show', 'ord-1'], [{ orderId: 'ord-1' }])).toMatchObject({ code: 69, out: '' });
  });
});
