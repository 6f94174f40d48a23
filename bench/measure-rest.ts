import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild } from './child.ts';
import type { Cleanup } from './cleanup.ts';
import { withCommands } from './commanding-service.ts';
import type { Bench, Figure } from './figure.ts';
import { RestClient } from './rest-client.ts';

const concurrency = 32;
const seconds = 10;
const rounds = 2;
const readOrders = 500;
const pagePath = '/v1/orders?limit=50';

/**
 * Reads against the service, and against fastify with the same bodies in memory: one load
 * generator, one machine, in turn.
 */
export async function measureRest(bench: Bench): Promise<Figure[]> {
  return withCommands(bench, { part: 'rest' }, async (rest) => {
    const bodies = await readBodies(rest);
    const paths = Object.keys(bodies).filter((path) => path !== pagePath);
    const memory = await startMemory(bench.cleanup, bodies);
    const shareOf = async (what: string, asked: readonly string[]): Promise<Figure> => {
      const rates = { service: [] as number[], memory: [] as number[] };
      for (let round = 0; round < rounds; round += 1) {
        rates.memory.push(await readRate(memory, asked));
        rates.service.push(await readRate(rest, asked));
      }
      const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
      return {
        name: `of fastify from memory, ${what}`,
        value: sum(rates.service) / sum(rates.memory),
        atLeast: 0.5,
        note: `${rates.service.join(' and ')} of ${rates.memory.join(' and ')} a second, ${bodies[asked[0] ?? '']?.length} B`,
      };
    };
    return [await shareOf('one order', paths), await shareOf('a page of 50', [pagePath])];
  });
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
  const memory = { name: 'memory-reads', script: 'bench/memory-reads.ts', args: [file], env: {} };
  const child = await startChild(cleanup, memory);
  const { port } = (await child.firstJson) as { port: number };
  return new RestClient(cleanup, `http://127.0.0.1:${port}`, concurrency);
}

/** Reads a second with as many under way at a time as there are connections. */
async function readRate(client: RestClient, paths: readonly string[]): Promise<number> {
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
