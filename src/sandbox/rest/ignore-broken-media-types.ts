import type { FastifyInstance } from 'fastify';

const mediaType = /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+\s*(?:;|$)/;

/**
 * A `content-type` that is no media type counts as none, so that the route answers: token first, then in its own shape. The framework alone would answer 415 to
 * everybody, in a shape that nothing documents.
 */
export function ignoreBrokenMediaTypes(app: FastifyInstance): void {
  app.addHook('onRequest', async ({ raw: { headers } }) => {
    if (headers['content-type'] !== undefined && !mediaType.test(headers['content-type'])) delete headers['content-type'];
  });
}
