import type { FastifyInstance } from 'fastify';
import { fdaCalendarPath } from '../../platform/wire/fda-calendar.ts';
import { investmentThemePath, investmentThemeQuery } from '../../platform/wire/investment-theme.ts';
import { ownershipPath, ownershipQuery } from '../../platform/wire/ownership.ts';
import { committeeMeetings, holdingsOf, membersOf } from '../data/research.ts';
import type { SandboxParts } from '../sandbox-parts.ts';
import { sendFlat, sendNested } from './error-bodies.ts';
import { readQuery } from './read-request.ts';
import { requireScope } from './require-scope.ts';

/**
 * Company ownership (flat errors), investment themes (nested ones with `meta`), FDA calendar (its 404 has no body at all: the third shape); specification,
 * "Research data".
 */
export function researchRoutes(app: FastifyInstance, parts: SandboxParts): void {
  const { prices, seed, options } = parts.data;
  app.get(ownershipPath, async (request, reply) => {
    const principal = await requireScope(parts.tokens, request, reply, 'market:supplemental', 'flat');
    if (principal === undefined) return reply;
    const query = readQuery(ownershipQuery, request.query);
    if ('fault' in query) return sendFlat(reply, 400, query.fault, ['INVALID_PARAMETER']);
    return { data: holdingsOf(prices, seed, query.value.symbol, query.value.limit ?? Number.POSITIVE_INFINITY) };
  });
  app.get(investmentThemePath, async (request, reply) => {
    const principal = await requireScope(parts.tokens, request, reply, 'market:supplemental', 'nested');
    if (principal === undefined) return reply;
    const query = readQuery(investmentThemeQuery, request.query);
    const meta = { parameter: 'theme' };
    if ('fault' in query) return sendNested(reply, 400, 'invalid_request', 'INVALID_PARAMETER', query.fault, meta);
    const { theme } = query.value;
    const symbols = options.emptyThemes.includes(theme) ? [] : membersOf(seed, theme);
    if (symbols.length === 0) return sendNested(reply, 404, 'not_found', 'NO_DATA', 'No stock in this theme', meta);
    return { theme, data: symbols.map((symbol) => ({ symbol })) };
  });
  app.get(fdaCalendarPath, async (request, reply) => {
    const principal = await requireScope(parts.tokens, request, reply, 'calendar:information', 'nested');
    if (principal === undefined) return reply;
    const data = committeeMeetings(seed, prices.today, options.fdaEvents);
    return data.length === 0 ? reply.code(404).send() : { data };
  });
}
