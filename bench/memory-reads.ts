/**
 * What the reads of `npm run bench` are held against: fastify that serves the same
 * bodies from memory, with nothing behind it. The argument is a file with one JSON
 * object, from path to body. Prints `{ "port" }`.
 */
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import Fastify from 'fastify';

const bodies = new Map(
  Object.entries(JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Record<string, string>),
);

const app = Fastify({ logger: false });
app.get('/*', async (request, reply) => {
  const body = bodies.get(request.url);
  if (body === undefined) return reply.code(404).send();
  return reply.type('application/json').send(body);
});
await app.listen({ host: '127.0.0.1', port: 0 });
console.log(JSON.stringify({ port: (app.server.address() as AddressInfo).port }));
