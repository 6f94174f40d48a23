import type { FastifyInstance } from 'fastify';
import { sendNested } from './error-bodies.ts';

/** Endpoint groups that the specification names without a path or a shape; of `options` only the quotes have one, and health is its own. */
const groups = [
  'watchlists',
  'charts',
  'analytics',
  'calendars',
  'company',
  'economy',
  'financials',
  'indices',
  'options',
  'news',
  'filings',
  'etf',
  'corporate-actions',
  'stock-estimates',
  'technical-analysis',
  'signals',
  'logos',
  'market-status',
];

/** They answer 501: there is nothing to implement (docs/platform-assumptions.md, "Data"). */
export function unspecifiedRoutes(app: FastifyInstance): void {
  for (const group of groups) {
    for (const url of [`/v1/${group}`, `/v1/${group}/*`]) {
      app.all(url, async (_request, reply) =>
        sendNested(reply, 501, 'internal', 'NOT_SPECIFIED', `The specification names ${group} without a shape`),
      );
    }
  }
}
