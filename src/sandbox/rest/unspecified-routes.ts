import type { FastifyInstance } from 'fastify';
import { sendNested } from './error-bodies.ts';

/** Endpoint groups that the specification names without a path or a shape. */
const groups = [
  'watchlists',
  'analytics',
  'calendars',
  'company',
  'economy',
  'financials',
  'indices',
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

/** They answer 501: there is nothing to implement (contract, "The rest"). */
export function unspecifiedRoutes(app: FastifyInstance): void {
  for (const group of groups) {
    for (const url of [`/v1/${group}`, `/v1/${group}/*`]) {
      app.all(url, async (_request, reply) =>
        sendNested(reply, 501, 'internal', 'NOT_SPECIFIED', `The specification names ${group} without a shape`),
      );
    }
  }
}
