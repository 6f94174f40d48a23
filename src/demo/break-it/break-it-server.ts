import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import { z } from 'zod';
import { isByPage } from '../../runtime/browser-guard.ts';
import type { BreakIt } from './break-it.ts';
import { faultNames } from './shapes.ts';

const breakBody = z.strictObject({ fault: z.enum(faultNames) });

/**
 * "Break it" over HTTP, on loopback: the service passes the page's requests on to it. It is open
 * before the service starts, since the service gets its address as a setting. Until it is there
 * it answers that the demo is starting.
 */
export class BreakItServer {
  private readonly app: FastifyInstance;
  private page: BreakIt | undefined;

  constructor() {
    const app = Fastify({ logger: false, forceCloseConnections: true, bodyLimit: 1024 });
    app.removeContentTypeParser('text/plain');
    // The service passes on the console's requests, as a program does. A user's open page may not
    // ask here itself.
    app.addHook('onRequest', async (request, reply) => {
      if (isByPage(request.raw, true))
        return problem(reply, 403, 'CROSS_SITE_REQUEST', 'Web pages may not use this port.');
    });
    app.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
      const wrong = error instanceof z.ZodError;
      return problem(
        reply,
        wrong ? 400 : (error.statusCode ?? 500),
        'DEMO_FAULT',
        wrong ? z.prettifyError(error) : error.message,
      );
    });
    app.get('/', (_request, reply) => this.with(reply, (page) => page.document()));
    app.post('/breaks', (request, reply) => {
      const { fault } = breakBody.parse(request.body);
      return this.with(reply, (page) => page.breakIt(fault));
    });
    app.post('/proofs', (_request, reply) => this.with(reply, (page) => page.prove()));
    this.app = app;
  }

  /** Returns its address. */
  open(): Promise<string> {
    return this.app.listen({ host: '127.0.0.1', port: 0 });
  }

  attach(page: BreakIt): void {
    this.page = page;
  }

  /** Harmless when it is closed already. */
  async close(): Promise<void> {
    await this.app.close();
    const { page } = this;
    this.page = undefined;
    await page?.close();
  }

  private with(reply: FastifyReply, use: (page: BreakIt) => object): FastifyReply {
    if (this.page === undefined) return problem(reply, 503, 'DEMO_STARTING', 'The demo is starting.');
    const answer = use(this.page);
    if ('refused' in answer) return problem(reply, 409, 'DEMO_BUSY', String(answer.refused));
    return reply.send(answer);
  }
}

function problem(reply: FastifyReply, status: number, code: string, detail: string): FastifyReply {
  return reply
    .code(status)
    .type('application/problem+json')
    .send(JSON.stringify({ title: 'Demo', status, code, detail }));
}
