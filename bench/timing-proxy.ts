import { Agent, createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Cleanup } from './cleanup.ts';

/** A platform behind a stopwatch. */
export interface TimingProxy {
  readonly url: string;
  /** Milliseconds from the last byte of the request to the last byte of the answer, by our reference; undefined for what did not pass. */
  answerMs(reference: string): number | undefined;
}

const reference = /"client(?:Id|OrderRef)":"(tm-[^"]+)"/;

/** Forwards every request to `target` and notes how long the platform took for those that carry a reference. Its own time counts as the service's, not the platform's. */
export async function startTimingProxy(cleanup: Cleanup, target: string): Promise<TimingProxy> {
  const times = new Map<string, number>();
  const agent = new Agent({ keepAlive: true });
  const { hostname, port } = new URL(target);
  const forward = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await bytesOf(request);
    const name = request.method === 'POST' ? reference.exec(body.toString('utf8'))?.[1] : undefined;
    const startedMs = performance.now();
    const onward = send({ agent, hostname, port, path: request.url, method: request.method, headers: request.headers });
    onward.once('error', () => response.destroy());
    onward.once('response', async (answer) => {
      const text = await bytesOf(answer).catch(() => undefined);
      if (text === undefined) return response.destroy();
      if (name !== undefined) times.set(name, performance.now() - startedMs);
      response.writeHead(answer.statusCode ?? 502, answer.headers).end(text);
    });
    onward.end(body);
  };
  const server = createServer((request, response) => void forward(request, response).catch(() => response.destroy()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanup.add(async () => {
    server.closeAllConnections();
    agent.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answerMs: (name) => times.get(name),
  };
}

async function bytesOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}
