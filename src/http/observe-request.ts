import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Metrics } from '../observability/metrics.ts';

const codeClasses = ['0xx', '1xx', '2xx', '3xx', '4xx', '5xx'];

/** Counts a request that was answered, under its route's pattern: never under its path. */
export function observeRequest(metrics: Metrics, request: FastifyRequest, reply: FastifyReply): void {
  const route = request.routeOptions.url ?? 'unknown';
  const code_class = codeClasses[Math.floor(reply.statusCode / 100)] ?? '5xx';
  metrics.process.httpSeconds.observe({ method: request.method, route, code_class }, reply.elapsedTime / 1000);
}
