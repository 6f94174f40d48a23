import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild } from './child.ts';
import type { Cleanup } from './cleanup.ts';
import { startCommandingService } from './commanding-service.ts';
import { RestClient } from './rest-client.ts';
import { startSandboxProcess } from './sandbox-process.ts';
import type { Stack } from './stack.ts';

export interface RestFigures {
  readonly oneOrder: ReadFigures;
  /** A page of 50. */
  readonly page: ReadFigures;
}

export interface ReadFigures {
  /** Reads a second, each measured twice, in turn. */
  readonly servicePerSecond: readonly number[];
  readonly memoryPerSecond: readonly number[];
  /** Of the means: the service's share of what fastify serves of the same bodies from memory. */
  readonly share: number;
  readonly bodyBytes: number;
}

const concurrency = 32;
const rounds = 2;
const readOrders = 500;
const pagePath = '/v1/orders?limit=50';

/**
 * Reads against the service, and against fastify with the same bodies in memory: one load
 * generator, one machine, in turn.
 */
export async function measureRest(cleanup: Cleanup, stack: Stack, seconds: number): Promise<RestFigures> {
  const sandbox = await startSandboxProcess(cleanup, { openOrders: 1000, knownOrders: 1000 });
  const { service, rest } = await startCommandingService(cleanup, stack, sandbox, { part: 'rest' });
  const bodies = await readBodies(rest);
  const paths = Object.keys(bodies).filter((path) => path !== pagePath);
  const memory = await startMemory(cleanup, bodies);
  const measure = async (asked: readonly string[]): Promise<ReadFigures> => {
    const rates = { service: [] as number[], memory: [] as number[] };
    for (let round = 0; round < rounds; round += 1) {
      rates.memory.push(await readRate(memory, asked, seconds));
      rates.service.push(await readRate(rest, asked, seconds));
    }
    const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
    const share = Math.round((sum(rates.service) / sum(rates.memory)) * 100) / 100;
    return {
      servicePerSecond: rates.service,
      memoryPerSecond: rates.memory,
      share,
      bodyBytes: bodies[asked[0] ?? '']?.length ?? 0,
    };
  };
  const figures = { oneOrder: await measure(paths), page: await measure([pagePath]) };
  await service.stop();
  await sandbox.stop();
  return figures;
}

/** What the service answers for each path that is measured: the same bytes stand in memory. */
async function readBodies(rest: RestClient): Promise<Record<string, string>> {
  const { text } = await expectOk(rest, `/v1/orders?limit=${readOrders}`);
  const listed = JSON.parse(text) as {
    readonly items: readonly { readonly stream: string; readonly orderId: string }[];
  };
  const bodies: Record<string, string> = { [pagePath]: (await expectOk(rest, pagePath)).text };
  for (const { stream, orderId } of listed.items) {
    const path = `/v1/orders/${stream}/${orderId}`;
    bodies[path] = (await expectOk(rest, path)).text;
  }
  return bodies;
}

async function startMemory(cleanup: Cleanup, bodies: Readonly<Record<string, string>>): Promise<RestClient> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-bench-bodies-'));
  cleanup.add(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'bodies.json');
  await writeFile(file, JSON.stringify(bodies));
  const child = await startChild(cleanup, {
    name: 'memory-reads',
    script: 'bench/memory-reads.ts',
    args: [file],
    env: {},
  });
  const { port } = (await child.firstJson) as { port: number };
  return new RestClient(cleanup, `http://127.0.0.1:${port}`, concurrency);
}

/** Reads a second with as many under way at a time as there are connections. */
async function readRate(client: RestClient, paths: readonly string[], seconds: number): Promise<number> {
  const read = async (forMs: number) => {
    let count = 0;
    const startMs = performance.now();
    const loop = async (first: number) => {
      for (let i = first; performance.now() - startMs < forMs; i += 1) {
        await expectOk(client, paths[i % paths.length] ?? '');
        count += 1;
      }
    };
    await Promise.all(Array.from({ length: concurrency }, (_, i) => loop(i * 7)));
    return (count * 1000) / (performance.now() - startMs);
  };
  // Both sides are compiled by then; the second round of each would
  // else be half as fast again as the first.
  await read(5000);
  return Math.round(await read(seconds * 1000));
}

async function expectOk(client: RestClient, path: string) {
  const answer = await client.get(path);
  if (answer.status !== 200) throw new Error(`GET ${path} was answered ${answer.status}: ${answer.text.slice(0, 200)}`);
  return answer;
}
