import { haltList } from '../../contract/halt-answers.ts';
import { limitList } from '../../contract/limit-bodies.ts';
import { exposureList } from '../../contract/rest-answers.ts';
import type { CallerDocument } from '../../contract/status-answer.ts';
import type { Stream } from '../../domain/order.ts';
import { present } from '../../domain/present.ts';
import { sameSymbol } from '../../domain/symbol.ts';
import type { Scope } from '../../service/rest/auth/principal.ts';
import type { RestClient } from '../rest/rest-client.ts';
import { query } from '../rest/rest-flags.ts';
import { orderLine, readOrderPage, shortOrder } from './read-orders.ts';
import { readAccounts } from './read-service.ts';
import { excerpt, isAllowed, readRest } from './tool.ts';

export interface Traded {
  readonly accountId: string;
  readonly stream: Stream;
  readonly symbol: string;
}

const mostOrders = 10;
const mostRows = 20;

/**
 * Everything a person has to see before a command is sent: the account, its open orders in the
 * symbol, its exposure, and the limits and halts in force. What the token may not read is named in
 * `notShown`, so that an absent limit is never taken for "no limit".
 */
export async function readAtStake(client: RestClient, caller: CallerDocument, traded: Traded) {
  const { accountId, symbol } = traded;
  const notShown: string[] = [];
  const read = async <T>(
    what: string,
    scopes: readonly [Scope, ...Scope[]],
    work: () => Promise<T>,
  ): Promise<T | undefined> => {
    if (isAllowed({ scopes }, caller)) return work();
    notShown.push(`${what} (the token needs ${scopes.join(' or ')})`);
    return undefined;
  };
  const account = await read('account', ['orders:read', 'ops:read'], () => readAccount(client, traded));
  const openOrders = await read('openOrders', ['orders:read'], async () => {
    const filter = { accountId, stream: traded.stream, symbol, open: 'true', limit: String(mostOrders) };
    const { items, next } = await readOrderPage(client, filter);
    return { items, more: next !== undefined };
  });
  const exposure = await read('exposure', ['orders:read', 'ops:read'], async () => {
    const { items } = await readRest(client, `/v1/exposure${query({ accountId })}`, 'exposure', exposureList);
    // Rows in this symbol first: an account may have many others.
    return items.toSorted((a, b) => Number(sameSymbol(b.symbol, symbol)) - Number(sameSymbol(a.symbol, symbol)));
  });
  const limits = await read('limits', ['ops:read'], async () => {
    const { items } = await readRest(client, '/v1/limits', 'limits', limitList);
    return items.filter((row) => holds(row.principal, caller.principal) && holds(row.accountId, accountId));
  });
  const halts = await read('halts', ['ops:read'], async () => {
    const { halts: inForce } = await readRest(client, '/v1/halts', 'halts', haltList);
    return inForce.filter(({ scope }) => scope.kind === 'service' || scope.accountId === accountId);
  });
  return { account, openOrders, exposure, limits, halts, notShown };
}
type AtStake = Awaited<ReturnType<typeof readAtStake>>;

/** A row without a principal holds for all. */
function holds(named: string | undefined, own: string): boolean {
  return named === undefined || named === own;
}

async function readAccount(client: RestClient, { accountId, stream }: Traded) {
  const found = (await readAccounts(client, { accountId })).items.find((row) => row.stream === stream);
  return found === undefined
    ? { followed: false }
    : { followed: true, simulated: found.isSim, state: found.state ?? 'not known' };
}

/** The same as structured content. */
export function atStakeData({ account, openOrders, exposure, limits, halts, notShown }: AtStake) {
  return present({
    account,
    openOrders: openOrders && { items: openOrders.items.map(shortOrder), more: openOrders.more },
    exposure: exposure && { items: exposure.slice(0, mostRows), rows: exposure.length },
    limits: limits
      ?.slice(0, mostRows)
      .map(({ principal, accountId, bounds }) => present({ principal, accountId, bounds })),
    halts: halts
      ?.slice(0, mostRows)
      .map(({ scope, cause, reason, since }) => ({ scope, cause, since, reason: excerpt(reason) })),
    notShown,
  });
}

/** The same as lines. */
export function atStakeLines(
  { account, openOrders, exposure = [], limits, halts = [], notShown }: AtStake,
  { symbol }: Traded,
): (string | undefined)[] {
  return [
    account && accountLine(account),
    ...halts.map(
      ({ scope, cause, reason }) => `Halted (${scope.kind}, ${cause}): ${excerpt(reason)}. Only cancels pass.`,
    ),
    openOrders && `Open orders in ${symbol}: ${openOrders.items.length}${openOrders.more ? ' or more' : ''}`,
    ...(openOrders?.items ?? []).map((order) => `  ${orderLine(order)}`),
    ...exposure
      .filter((row) => sameSymbol(row.symbol, symbol))
      .map((row) => `Exposure, ${row.side} ${symbol}: ${row.openQuantity} open, ${row.unresolvedQuantity} unresolved`),
    ...limitLines(limits),
    ...notShown.map((what) => `Not shown: ${what}`),
  ];
}

function accountLine(account: NonNullable<AtStake['account']>): string {
  if (!('simulated' in account)) return 'The service does not follow this account on this stream.';
  return `The account is ${account.simulated ? 'simulated' : 'REAL MONEY'}; its stream is ${account.state}.`;
}

function limitLines(limits: AtStake['limits']): string[] {
  if (limits === undefined) return [];
  if (limits.length === 0) return ['No limit is set.'];
  return limits.slice(0, mostRows).map(({ principal, accountId, bounds }) => {
    const whose = [principal, accountId].filter((part) => part !== undefined).join(' on ') || 'everyone';
    const each = Object.entries(bounds).map(([name, bound]) => `${name} ${excerpt(String(bound))}`);
    return `Limits (${whose}): ${each.join(', ')}`;
  });
}
