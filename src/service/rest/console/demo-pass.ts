import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../../runtime/clock.ts';
import { withDeadline } from '../../../runtime/waiting.ts';
import { sendProblem } from '../send-answer.ts';

interface DemoPassDeps {
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  /** The address of "Break it". The configuration's rules require loopback, and no sign-in. */
  readonly url: string;
}

const answerWithinMs = 10_000;

/**
 * Passes `/console/demo` on to "Break it" of `tidemark demo`, so that the page asks its own origin
 * and nothing else. The port's guards have run before: another site's page changes nothing here.
 */
export class DemoPass {
  private readonly deps: DemoPassDeps;

  constructor(deps: DemoPassDeps) {
    this.deps = deps;
  }

  serve(server: FastifyInstance): void {
    const pass = (request: FastifyRequest, reply: FastifyReply) => this.pass(request, reply);
    server.get('/console/demo', pass);
    server.post('/console/demo/:action', pass);
  }

  private async pass(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { clock, fetch: ask, url } = this.deps;
    const { action = '' } = (request.params ?? {}) as { readonly action?: string };
    if (!/^[a-z]{0,20}$/.test(action)) return sendProblem(reply, 'NOT_FOUND');
    const abort = new AbortController();
    const body = request.method === 'POST' ? Buffer.from((request.body as Buffer | undefined) ?? '{}') : undefined;
    const work = async () => {
      const answer = await ask(`${url}/${action}`, {
        method: request.method,
        signal: abort.signal,
        redirect: 'error',
        ...(body !== undefined && { body, headers: { 'content-type': 'application/json' } }),
      });
      return {
        status: answer.status,
        type: answer.headers.get('content-type') ?? 'text/plain',
        text: await answer.text(),
      };
    };
    try {
      const { status, type, text } = await withDeadline(clock, answerWithinMs, '"Break it" of the demo', work());
      return reply.code(status).header('content-type', type).send(text);
    } catch {
      abort.abort();
      return sendProblem(reply, 'DEMO_AWAY');
    }
  }
}
