import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { ensurePackages } from '../../tools/packages.ts';
import { runningSandbox } from '../support/platform/sandbox.ts';
import { ask, startRest } from '../support/rest/rest-rig.ts';
import { World } from '../support/runs/service-under-test.ts';

/**
 * A program as its author would write it over the generated types: a wrong
 * path, parameter or field does not compile.
 */
const program = `
import type { components, paths } from './tidemark.d.ts';

type Page = paths['/v1/orders']['get']['responses'][200]['content']['application/json'];
type Query = NonNullable<paths['/v1/orders']['get']['parameters']['query']>;
type Problem = components['schemas']['Problem'];
type Placed = components['schemas']['Command'];
const body: components['schemas']['PlaceOrderRequest'] = {
  accountId: 'ACC-1', symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '10', price: '187.5', timeInForce: 'DAY',
};
export const sides = (page: Page): string[] => page.items.map(({ order }) => order.side);

export async function run(address: string): Promise<{ sides: string[]; code: string; result: Placed['result'] }> {
  const query: Query = { status: 'partially_filled', limit: 5 };
  const page = (await (await fetch(\`\${address}/v1/orders?status=\${query.status}&limit=\${query.limit}\`)).json()) as Page;
  const problem = (await (await fetch(\`\${address}/v1/orders/account/none\`)).json()) as Problem;
  const headers = { 'content-type': 'application/json', 'idempotency-key': 'generated-1' };
  const placed = (await (await fetch(\`\${address}/v1/orders\`, { method: 'POST', headers, body: JSON.stringify(body) })).json()) as Placed;
  return { sides: sides(page), code: problem.code, result: placed.result };
}
`;

/** The same with calls: openapi-fetch has no types but the document's. */
const caller = `
import createClient from 'openapi-fetch';
import type { paths } from './tidemark.d.ts';

export async function run(baseUrl: string, accountId: string, symbol: string) {
  const client = createClient<paths>({ baseUrl });
  const header = () => ({ 'Idempotency-Key': crypto.randomUUID(), Prefer: 'wait=20' });
  const body = { accountId, symbol, outcome: 'YES', side: 'buy', orderType: 'limit', quantity: '10', price: '0.01', timeInForce: 'gtc' } as const;
  const placed = await client.POST('/v1/predictions/orders', { params: { header: header() }, body });
  const orderId = placed.data?.orderId;
  if (orderId === undefined) throw new Error(placed.error?.detail ?? placed.data?.state);
  const path = { orderId };
  const replaced = await client.PATCH('/v1/predictions/orders/{orderId}', {
    params: { path, header: header() }, body: { accountId, price: '0.02' },
  });
  const read = await client.GET('/v1/orders/{stream}/{orderId}', { params: { path: { stream: 'prediction', orderId } } });
  const changed = await client.DELETE('/v1/predictions/orders/{orderId}', {
    params: { path, query: { accountId }, header: { ...header(), 'If-Match': '"1"' } },
  });
  const canceled = await client.DELETE('/v1/predictions/orders/{orderId}', { params: { path, query: { accountId }, header: header() } });
  const commands: (string | undefined)[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await client.GET('/v1/commands', { params: { query: { accountId, limit: 2, ...(cursor !== undefined && { cursor }) } } });
    if (page.data === undefined) throw new Error(page.error.code);
    commands.push(...page.data.items.map(({ kind, result }) => kind + ' ' + result));
    cursor = page.data.next;
    if (cursor === undefined) break;
  }
  const refused = await client.POST('/v1/predictions/orders', { params: { header: header() }, body: { ...body, quantity: '0' } });
  const missing = await client.GET('/v1/orders/{stream}/{orderId}', { params: { path: { stream: 'prediction', orderId: 'none' } } });
  return {
    results: [placed, replaced, canceled].map(({ data }) => data?.result),
    price: read.data?.order.working.price,
    commands,
    errors: [changed.error?.code, refused.error?.code, refused.error?.faults?.map(({ path }) => path).join(), missing.error?.code],
  };
}
`;

let rig: Awaited<ReturnType<typeof startRest>>;
let folder: string;
beforeAll(async () => {
  ensurePackages('tools/checks');
  rig = await startRest();
  folder = mkdtempSync(join(tmpdir(), 'tidemark-client-'));
  const { text } = await ask(`${rig.address}/openapi.json`);
  writeFileSync(join(folder, 'openapi.json'), text);
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  symlinkSync(resolve('tools/checks/node_modules'), join(folder, 'node_modules'));
  node(
    'tools/checks/node_modules/openapi-typescript/bin/cli.js',
    join(folder, 'openapi.json'),
    '--output',
    join(folder, 'tidemark.d.ts'),
  );
}, 600_000);
afterAll(async () => {
  await rig.server.drain(new AbortController().signal);
  rmSync(folder, { recursive: true, force: true });
});

function node(script: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [resolve(script), ...args], {
    cwd: folder,
    encoding: 'utf8',
    timeout: 50_000,
  });
  if (status !== 0) throw new Error(`${script} ended with ${status}: ${stdout}${stderr}`);
  return stdout;
}

/** As strict as TypeScript gets, with the generated declarations checked as well. */
function compile(code: string, file = 'client.ts'): void {
  writeFileSync(join(folder, file), code);
  const flags = ['--noEmit', '--strict', '--module', 'nodenext', '--lib', 'es2024,dom'];
  node(
    'node_modules/typescript/bin/tsc',
    ...flags,
    '--allowImportingTsExtensions',
    '--ignoreConfig',
    join(folder, file),
  );
}

it('a client generated by openapi-typescript compiles, lists orders, places one and reads a problem', async () => {
  compile(program);
  rig.reads.addUpdate({ revision: 1 });
  const { run } = (await import(join(folder, 'client.ts'))) as { run: (address: string) => Promise<object> };
  expect(await run(rig.address)).toMatchObject({
    sides: ['buy'],
    code: 'ORDER_NOT_FOUND',
    result: expect.any(String),
  });
}, 60_000);

it('a client that misspells a field does not compile', () => {
  expect(() => compile(program.replace('order.side', 'order.direction'))).toThrow(
    "Property 'direction' does not exist",
  );
}, 60_000);

it('a client of openapi-fetch places, replaces, cancels, goes through pages and reads what is refused', async () => {
  compile(caller, 'caller.ts');
  const { description } = await runningSandbox();
  const world = await World.create({ platform: platformSettings(description), env: { TIDEMARK_COMMANDS: 'on' } });
  const service = await world.serve();
  await service.waitLive();
  type Run = (address: string, accountId: string, symbol: string | undefined) => Promise<object>;
  const { run } = (await import(join(folder, 'caller.ts'))) as { run: Run };
  expect(await run(await service.restAddress(), 'SIM-1001', description.predictionSymbols[0])).toEqual({
    results: ['applied', 'applied', 'applied'],
    price: '0.02',
    commands: ['cancel applied', 'replace applied', 'place applied'],
    errors: ['REVISION_MISMATCH', 'INVALID_ORDER', 'quantity', 'ORDER_NOT_FOUND'],
  });
  expect(await service.stop()).toBe(0);
});
