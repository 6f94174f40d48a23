import type { FastifyInstance } from 'fastify';

/** `GET /v1/health`, open to everybody. */
export function healthRoutes(app: FastifyInstance): void {
  app.get('/v1/health', async () => ({ status: 'ok' }));
}
