import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '../../../src/runtime/clock.ts';
import type { Random } from '../../../src/runtime/random.ts';
import { atEnd } from './at-end.ts';

/** What happens to a request on its way to the service and back. */
const fates = [
  'request_lost',
  'answer_lost',
  'answer_torn',
  'answer_late',
  'sent_twice',
  'page_before',
  'page_after',
] as const;
type Fate = (typeof fates)[number];

const longestDelayMs = 1_500;

/**
 * REST of a service behind a network and a proxy that fail: how
 * often is a probability for each request.
 */
export class LossyRest {
  url = '';
  /** Requests that met each fault. */
  readonly met = new Map<Fate, number>();
  writes = 0.6;
  reads = 0.04;
  private readonly target: string;
  private readonly random: Random;

  private constructor(target: string, random: Random) {
    this.target = target;
    this.random = random;
  }

  static async start(target: string, random: Random): Promise<LossyRest> {
    const lossy = new LossyRest(target, random);
    const server = createServer((request, response) => {
      void lossy.pass(request, response).catch(() => response.destroy());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    atEnd(() => {
      server.closeAllConnections();
      server.close();
    });
    lossy.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return lossy;
  }

  private async pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const fate = this.draw(request.method === 'GET' ? this.reads : this.writes);
    if (fate === 'request_lost') return void response.destroy();
    if (fate === 'page_before') return page(response);
    const [answer] = await Promise.all(
      Array.from({ length: fate === 'sent_twice' ? 2 : 1 }, () => this.forward(request, body)),
    );
    if (fate === 'answer_late') await systemClock.sleep(this.random.next() * longestDelayMs);
    if (fate === 'answer_lost' || answer === undefined) return void response.destroy();
    if (fate === 'page_after') return page(response);
    response.writeHead(answer.status, answer.headers);
    if (fate !== 'answer_torn') return void response.end(answer.text);
    response.write(answer.text.slice(0, answer.text.length / 2));
    await systemClock.turn();
    response.destroy();
  }

  private draw(probability: number): Fate | undefined {
    if (this.random.next() >= probability) return undefined;
    const fate = fates[Math.floor(this.random.next() * fates.length)];
    if (fate !== undefined) this.met.set(fate, (this.met.get(fate) ?? 0) + 1);
    return fate;
  }

  private async forward({ method = '', url = '', headers }: IncomingMessage, body: Buffer) {
    const passed = Object.entries(headers).filter(([name]) => !['host', 'connection', 'content-length'].includes(name));
    const answer = await fetch(`${this.target}${url}`, {
      method,
      headers: Object.fromEntries(passed.map(([name, value]) => [name, String(value)])),
      ...(body.length > 0 && { body }),
    });
    const text = await answer.text();
    return {
      status: answer.status,
      text,
      headers: {
        'content-type': answer.headers.get('content-type') ?? '',
        'content-length': String(Buffer.byteLength(text)),
      },
    };
  }
}

function page(response: ServerResponse): void {
  response.writeHead(502, { 'content-type': 'text/html' }).end('<html>Bad gateway</html>');
}
