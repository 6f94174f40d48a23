import { Pool } from 'undici';
import { systemRandom } from '../src/runtime/random.ts';
import type { Cleanup } from './cleanup.ts';

interface RestAnswer {
  readonly status: number;
  readonly text: string;
}

/** A caller of REST with connections that stay open, as a desk's services have. */
export class RestClient {
  private readonly pool: Pool;

  constructor(cleanup: Cleanup, baseUrl: string, connections: number) {
    this.pool = new Pool(baseUrl, { connections, pipelining: 1 });
    cleanup.add(() => this.pool.destroy());
  }

  async get(path: string): Promise<RestAnswer> {
    const { statusCode, body } = await this.pool.request({ method: 'GET', path });
    return { status: statusCode, text: await body.text() };
  }

  /** With a key of its own. */
  async post(path: string, body: object): Promise<RestAnswer> {
    const headers = { 'content-type': 'application/json', 'idempotency-key': systemRandom.uuid() };
    const answer = await this.pool.request({ method: 'POST', path, headers, body: JSON.stringify(body) });
    return { status: answer.statusCode, text: await answer.body.text() };
  }
}
