import { createHash } from 'node:crypto';
import type { Cleanup } from './cleanup.ts';
import { restingOrder, startCommandingService, tradedAccounts } from './commanding-service.ts';
import { percentile } from './percentile.ts';
import { RestClient } from './rest-client.ts';
import { startSandboxProcess } from './sandbox-process.ts';
import type { Stack } from './stack.ts';

/** How long a desk's cancels take while somebody else reads as much as they can. */
export interface PressureFigures {
  readonly aloneMs: CancelTimes;
  readonly besideReadsMs: CancelTimes;
  /** Pages of 500 commands that were answered, a second. */
  readonly pagesPerSecond: number;
  /** Others, answered 429 or 503. */
  readonly refusedPerSecond: number;
  readonly pageBytes: number;
}

export interface CancelTimes {
  readonly p50: number;
  readonly p99: number;
  readonly highest: number;
  readonly count: number;
  /** Of them, those that were answered 4xx or 5xx. */
  readonly failed: number;
}

const readers = 60;
const pagePath = '/v1/commands?limit=500';
const commandsThere = 700;
const cancelEveryMs = 100;

/**
 * Two principals: one cancels ten orders a second, the other asks for pages of 500 commands on 60
 * connections, each as soon as it has the last.
 */
export async function measureReadPressure(cleanup: Cleanup, stack: Stack, seconds: number): Promise<PressureFigures> {
  const sandbox = await startSandboxProcess(cleanup, { openOrders: 100, knownOrders: 100 });
  const env = { TIDEMARK_AUTH_TOKENS: `${tokenLine('desk')}; ${tokenLine('reports')}` };
  const { service, url } = await startCommandingService(cleanup, stack, sandbox, { part: 'pressure', env });
  const desk = new RestClient(cleanup, url, 8, 'desk');
  const reports = new RestClient(cleanup, url, readers, 'reports');
  const paths = await placeOrders(desk, tradedAccounts(sandbox));
  const cancelFor = async (forSeconds: number): Promise<CancelTimes> => {
    const took: number[] = [];
    let failed = 0;
    const endsMs = performance.now() + forSeconds * 1000;
    for (let startedMs = performance.now(); startedMs < endsMs; startedMs = performance.now()) {
      const { status } = await desk.command('DELETE', paths.shift() ?? '');
      if (status >= 400) failed += 1;
      took.push(performance.now() - startedMs);
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, cancelEveryMs - (performance.now() - startedMs))));
    }
    return {
      p50: percentile(took, 0.5),
      p99: percentile(took, 0.99),
      highest: Math.max(...took),
      count: took.length,
      failed,
    };
  };
  // The first are slow while the service is still being compiled.
  await cancelFor(3);
  const aloneMs = await cancelFor(seconds);
  const reading = readUntilStopped(reports);
  const startedMs = performance.now();
  const besideReadsMs = await cancelFor(seconds);
  const { pages, refused, pageBytes } = await reading.stop();
  const lastedSeconds = (performance.now() - startedMs) / 1000;
  await service.stop();
  await sandbox.stop();
  return {
    aloneMs,
    besideReadsMs,
    pagesPerSecond: Math.round(pages / lastedSeconds),
    refusedPerSecond: Math.round(refused / lastedSeconds),
    pageBytes,
  };
}

/** The token of a principal is its name: nothing but this bench reaches the service. */
function tokenLine(name: string): string {
  return `${name}:${createHash('sha256').update(name).digest('hex')}:orders:read,orders:write,ops:read:*`;
}

async function placeOrders(desk: RestClient, accounts: ReturnType<typeof tradedAccounts>): Promise<string[]> {
  const paths: string[] = [];
  let next = 0;
  const place = async () => {
    while (next < commandsThere) {
      const { path, body } = restingOrder(accounts, next++);
      const { status, text } = await desk.command('POST', path, body);
      if (status !== 200) throw new Error(`a place was answered ${status}: ${text.slice(0, 200)}`);
      const { links, accountId, commandId } = JSON.parse(text) as {
        readonly links: { readonly order?: string };
        readonly accountId: string;
        readonly commandId: string;
      };
      const orderId = links.order?.split('/').at(-1) ?? (await orderOf(desk, commandId));
      paths.push(`${path}/${orderId}?accountId=${accountId}`);
    }
  };
  await Promise.all(Array.from({ length: 8 }, place));
  return paths;
}

/** An equity order's id is not in the answer to its place: it comes with the order. */
async function orderOf(desk: RestClient, commandId: string): Promise<string> {
  for (let tries = 0; tries < 10; tries += 1) {
    const { text } = await desk.get(`/v1/commands/${commandId}`, { prefer: 'wait=10' });
    const { orderId } = JSON.parse(text) as { readonly orderId?: string };
    if (orderId !== undefined) return orderId;
  }
  throw new Error(`the order of command ${commandId} did not show`);
}

function readUntilStopped(client: RestClient) {
  const seen = { pages: 0, refused: 0, pageBytes: 0 };
  let stopped = false;
  const read = async () => {
    while (!stopped) {
      const { status, text } = await client.get(pagePath);
      if (status === 200) {
        seen.pages += 1;
        seen.pageBytes = text.length;
      } else {
        seen.refused += 1;
      }
    }
  };
  const all = Promise.all(Array.from({ length: readers }, read));
  return {
    async stop() {
      stopped = true;
      await all;
      return seen;
    },
  };
}
