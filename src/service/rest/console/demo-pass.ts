import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../../runtime/clock.ts';
import { fetchWithin } from '../../../runtime/waiting.ts';
import { sendProblem } from '../send-answer.ts';

export interface DemoPassDeps {
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
export function serveDemo(server: FastifyInstance, deps: DemoPassDeps): void {
  const pass = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { action = '' } = (request.params ?? {}) as { readonly action?: string };
    if (!/^[a-z]{0,20}$/.test(action)) return sendProblem(reply, 'NOT_FOUND');
    const { method } = request;
    const body = method === 'POST' ? Buffer.from((request.body as Buffer | undefined) ?? '{}') : undefined;
    try {
      const { status, headers, text } = await fetchWithin(deps, `${deps.url}/${action}`, answerWithinMs, {
        method,
        redirect: 'error',
        ...(body !== undefined && { body, headers: { 'content-type': 'application/json' } }),
      });
      return reply
        .code(status)
        .header('content-type', headers.get('content-type') ?? 'text/plain')
        .send(text);
    } catch {
      return sendProblem(reply, 'DEMO_AWAY');
    }
  };
  server.get('/console/demo', pass);
  server.post('/console/demo/:action', pass);
}
