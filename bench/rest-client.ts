import { Pool } from 'undici';
import { systemRandom } from '../src/runtime/random.ts';
import type { Cleanup } from './cleanup.ts';

export interface RestAnswer {
  readonly status: number;
  readonly text: string;
}

/** A caller of REST with connections that stay open, as a desk's services have. */
export class RestClient {
  private readonly pool: Pool;

  private readonly signIn: Readonly<Record<string, string>>;

  constructor(cleanup: Cleanup, baseUrl: string, connections: number, token?: string) {
    this.signIn = token === undefined ? {} : { authorization: `Bearer ${token}` };
    this.pool = new Pool(baseUrl, { connections, pipelining: 1 });
    cleanup.add(() => this.pool.destroy());
  }

  async get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<RestAnswer> {
    const { statusCode, body } = await this.pool.request({
      method: 'GET',
      path,
      headers: { ...this.signIn, ...headers },
    });
    return { status: statusCode, text: await body.text() };
  }

  /** With a key of its own. */
  async command(method: 'POST' | 'PATCH' | 'DELETE', path: string, body?: object): Promise<RestAnswer> {
    const answer = await this.pool.request({
      method,
      path,
      headers: { ...this.signIn, 'content-type': 'application/json', 'idempotency-key': systemRandom.uuid() },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: answer.statusCode, text: await answer.body.text() };
  }
}
