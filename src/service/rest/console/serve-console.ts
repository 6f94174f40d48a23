import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sendProblem } from '../send-answer.ts';
import { policyOf } from './console-page.ts';
import type { ConsoleSite } from './console-site.ts';

const forGood = 'public, max-age=31536000, immutable';

/**
 * Serves the console under /console, and leads `/` there. These are not in the table of routes:
 * they hold no data, so they need no token and have no place in OpenAPI. The page asks the table's
 * routes with its reader's token.
 */
export function serveConsole(server: FastifyInstance, site: ConsoleSite): void {
  server.get('/', (_request, reply) => reply.redirect('/console', 302));
  server.get('/console', (_request, reply) => sendPage(site, reply));
  server.get('/console/sign-in.json', (_request, reply) =>
    reply.header('cache-control', 'no-store').send(site.signIn.document()),
  );
  server.get('/console/*', (request, reply) => {
    const path = request.url.split('?', 1)[0] ?? '';
    if (path.startsWith('/console/app/')) return sendFile(site, path, request, reply);
    const [, runbook] = /^\/console\/runbooks\/([\w-]+)\.md$/.exec(path) ?? [];
    return runbook === undefined ? sendPage(site, reply) : sendRunbook(site, runbook, reply);
  });
}

/** For every screen's address: the page itself reads the address. */
async function sendPage(site: ConsoleSite, reply: FastifyReply): Promise<FastifyReply> {
  const built = await site.site();
  if (built === undefined) return notMade(reply);
  return reply
    .header('content-type', 'text/html; charset=utf-8')
    .header('content-security-policy', policyOf(site.signIn.origins()))
    .header('cross-origin-opener-policy', 'same-origin')
    .send(built.page);
}

async function sendFile(
  site: ConsoleSite,
  path: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const built = await site.site();
  if (built === undefined) return notMade(reply);
  const file = built.files.get(path);
  if (file === undefined) return sendProblem(reply, 'NOT_FOUND');
  reply.header('content-type', file.type).header('cache-control', forGood).header('vary', varyWith(reply));
  if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) return reply.send(Buffer.from(file.bytes));
  return reply.header('content-encoding', 'gzip').send(Buffer.from(file.gzipped));
}

/** Not for good, as its address stays the same when its text changes. */
async function sendRunbook(site: ConsoleSite, name: string, reply: FastifyReply): Promise<FastifyReply> {
  const built = await site.site();
  if (built === undefined) return notMade(reply);
  const file = built.runbooks.get(name);
  if (file === undefined) return sendProblem(reply, 'NOT_FOUND');
  return reply.header('content-type', file.type).send(Buffer.from(file.bytes));
}

/** Beside the origin, which is there if other origins may use REST. */
function varyWith(reply: FastifyReply): string {
  const before = reply.getHeader('vary');
  return before === undefined ? 'Accept-Encoding' : `${before}, Accept-Encoding`;
}

function notMade(reply: FastifyReply): FastifyReply {
  return sendProblem(reply, 'CONSOLE_UNAVAILABLE');
}
