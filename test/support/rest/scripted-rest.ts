import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { parsePlaceAccount, parsePlacePrediction } from '../../../src/contract/command-bodies.ts';
import type { PreviewAnswer } from '../../../src/contract/preview-answer.ts';
import { parseReplace, parseReplaceAccount } from '../../../src/contract/replace-bodies.ts';
import { measurePlace, measureReplace } from '../../../src/domain/measure-command.ts';
import type { Order } from '../../../src/domain/order.ts';
import { json, type Received } from '../servers/http-server.ts';
import { commandBody, problemBody, restServer } from './rest-answers.ts';

/** What becomes of a request that would send a command. */
type Fate =
  | { readonly kind: 'answered'; readonly status?: number; readonly with?: Readonly<Record<string, unknown>> }
  /** It is journaled, and its answer is lost. */
  | { readonly kind: 'answer_lost' }
  /** It is lost on its way. */
  | { readonly kind: 'request_lost' }
  | { readonly kind: 'problem'; readonly status: number; readonly code: string }
  /** A proxy's page, after the request was journaled. */
  | { readonly kind: 'foreign_page' };

const orderBody = {
  stream: 'prediction',
  orderId: 'o-1',
  accountId: 'SIM-1001',
  revision: 4,
  order: {
    ...{
      stream: 'prediction',
      orderId: 'o-1',
      accountId: 'SIM-1001',
      side: 'buy',
      orderType: 'limit',
      timeInForce: 'gtc',
    },
    instrument: { kind: 'prediction', symbol: 'FED-CUT-DEC26', outcome: 'YES' },
    ...{ status: 'new', statusRaw: 'new', certainty: 'certain', pendingAction: 'none', quantity: '50', price: '0.42' },
    working: { quantity: '50', price: '0.42' },
    ...{ cumQty: '0', leavesQty: '50', origin: 'tidemark', updatedAt: '2026-11-21T15:00:00.000Z' },
  },
};

/** At a venue where a replace makes a new order. */
const securitiesBody = {
  ...{ stream: 'alpaca_paper', orderId: 'a-1', accountId: 'SIM-1001', revision: 7 },
  order: {
    ...orderBody.order,
    ...{ stream: 'alpaca_paper', orderId: 'a-1', quantity: '10', price: '187.5', cumQty: '4', leavesQty: '6' },
    instrument: { kind: 'equity', symbol: 'AAPL' },
    ...{ status: 'partially_filled', working: { quantity: '10', price: '187.5' } },
  },
};

/**
 * REST as the tools of an assistant see it: it answers what a test says, and keeps a command for
 * each key, as the journal does.
 */
export class ScriptedRest {
  url = '';
  /** Requests that would send a command, in the order in which they came. */
  readonly sent: Received[] = [];
  readonly authorizations = new Set<string | undefined>();
  caller: Record<string, unknown> = {
    principal: 'desk',
    signIn: true,
    scopes: ['orders:read', 'orders:write', 'ops:read'],
    commands: 'on',
  };
  /** In turn; then each request is answered. */
  fates: Fate[] = [];
  orders: object[] = [orderBody];
  reads: 'answered' | 'lost' = 'answered';
  previewed: Pick<PreviewAnswer, 'quotes' | 'refusals'> = {
    quotes: [{ kind: 'equity', symbol: 'AAPL', bid: '187.48', ask: '187.52', last: '187.51', ageMs: 212 }],
    refusals: [],
  };
  readonly commands = new Map<string, Record<string, unknown>>();

  static async start(): Promise<ScriptedRest> {
    const rest = new ScriptedRest();
    rest.url = (await restServer((request, response) => rest.answer(request, response))).url;
    return rest;
  }

  private answer(request: Received, response: ServerResponse): void {
    this.authorizations.add(request.headers.authorization);
    const isPreview = request.path.endsWith('/preview');
    const reply = isPreview
      ? this.preview(request)
      : request.method === 'GET'
        ? this.read(request)
        : this.take(request);
    if (reply === 'lost') response.destroy();
    else if (typeof reply.body === 'string')
      response.writeHead(reply.status, { 'content-type': 'text/html' }).end(reply.body);
    else
      json(
        response,
        reply.status,
        reply.body,
        reply.status < 400 ? {} : { 'content-type': 'application/problem+json' },
      );
  }

  private read({ path: asked }: Received): Reply {
    if (this.reads === 'lost') return 'lost';
    const { pathname: path, searchParams } = new URL(asked, this.url);
    const body = this.lists(path);
    if (body !== undefined) return { status: 200, body };
    const key = searchParams.get('idempotencyKey');
    const shown = [...this.commands.values()].filter(({ idempotencyKey }) => key === null || idempotencyKey === key);
    if (path === '/v1/commands') return { status: 200, body: { items: shown } };
    const found = shown.find(({ commandId }) => path === `/v1/commands/${String(commandId)}`);
    if (found === undefined) return problem(404, path.startsWith('/v1/commands') ? 'COMMAND_NOT_FOUND' : 'NOT_FOUND');
    const recomputed = { state: found['state'], because: 'landed', rule: 'it is there', agrees: true, complete: true };
    return { status: 200, body: { evidence: [], ...found, recomputed, timeline: [] } };
  }

  private lists(path: string): object | undefined {
    const bodies: Readonly<Record<string, object>> = {
      '/v1/me': this.caller,
      '/v1/accounts': { items: accounts, statesKnown: true },
      '/v1/exposure': { items: [exposureRow] },
      '/v1/limits': { items: limits },
      '/v1/halts': { halts: [] },
      '/v1/orders': { items: this.orders },
      '/v1/orders/prediction/o-1': orderBody,
      '/v1/orders/alpaca_paper/a-1': securitiesBody,
      '/v1/orders/account/c-1': {
        ...{ ...securitiesBody, stream: 'account', orderId: 'c-1' },
        order: { ...securitiesBody.order, stream: 'account', orderId: 'c-1' },
      },
    };
    return bodies[path];
  }

  /** As the service previews it: nothing is kept. */
  private preview({ path, headers, body: text }: Received): Reply {
    const body: unknown = JSON.parse(text);
    const [, named] = /\/orders\/([^/]+)\/preview$/.exec(path) ?? [];
    if (named !== undefined) return this.previewReplace(path, headers['if-match'], body);
    const onAccount = path === '/v1/orders/preview';
    const parsed = onAccount ? parsePlaceAccount(body) : parsePlacePrediction(body);
    if (!parsed.ok) throw new Error('a tool asked for a preview of what it could have refused itself');
    const stream = onAccount ? 'account' : 'prediction';
    const place = { kind: 'place', stream, ...parsed } as Parameters<typeof measurePlace>[0];
    const { quantity, notional: value } = measurePlace(place);
    const { accountId, terms } = place;
    const { quotes, refusals } = this.previewed;
    const said = { stream, accountId, terms, quantity, value, quotes: onAccount ? quotes : [], limits: [], refusals };
    return { status: 200, body: { ...said, at: '2026-11-21T15:00:00.000Z' } };
  }

  private previewReplace(path: string, ifMatch: string | undefined, body: unknown): Reply {
    const isSecurities = !path.startsWith('/v1/predictions/');
    const { revision, order } = isSecurities ? securitiesBody : orderBody;
    const parsed = isSecurities ? parseReplaceAccount(body) : parseReplace(body);
    if (!parsed.ok) throw new Error('a tool asked for a preview of what it could have refused itself');
    if (ifMatch !== `"${revision}"`) return problem(412, 'REVISION_MISMATCH');
    const { stream, accountId, terms } = parsed;
    const request = { kind: 'replace', stream, accountId, orderId: order.orderId, terms } as const;
    const { quantity, notional = null } = measureReplace(request, order as unknown as Order);
    const why = notional === null ? { noValue: 'the new terms do not raise it' } : {};
    const said = { stream, accountId, terms, quantity, value: notional, ...why, quotes: [], limits: [] };
    const { refusals } = this.previewed;
    return { status: 200, body: { ...said, refusals, at: '2026-11-21T15:00:00.000Z' } };
  }

  private take(request: Received): Reply {
    this.sent.push(request);
    const fate = this.fates.shift() ?? { kind: 'answered' };
    if (fate.kind === 'problem') return problem(fate.status, fate.code);
    if (fate.kind === 'request_lost') return 'lost';
    const key = String(request.headers['idempotency-key']);
    const result = fate.kind === 'answered' ? fate.with : {};
    const body = this.commands.get(key) ?? {
      ...commandBody({ commandId: randomUUID(), principal: 'desk', idempotencyKey: key, ...applied, ...result }),
    };
    this.commands.set(key, body);
    if (fate.kind === 'answer_lost') return 'lost';
    if (fate.kind === 'foreign_page') return { status: 502, body: '<html>Bad gateway</html>' };
    return { status: fate.status ?? 200, body };
  }
}

type Reply = 'lost' | { readonly status: number; readonly body: object | string };

const applied = { result: 'applied', state: 'applied', orderId: 'o-9', orderStatus: 'new' };
const accounts = [
  { stream: 'account', accountId: 'SIM-1001', isSim: true, openOrders: 1, state: 'live' },
  { stream: 'prediction', accountId: 'SIM-1001', isSim: true, openOrders: 1, state: 'live' },
];
const exposureRow = {
  ...{ accountId: 'SIM-1001', stream: 'account', symbol: 'AAPL', side: 'buy', openOrders: 1, openQuantity: '7' },
  ...{ unresolvedCommands: 1, unresolvedQuantity: '3' },
};
const changed = { changedBy: 'ann', reason: 'for all', changedAt: '2026-11-21T15:00:00.000Z' };
const limits = [
  { bounds: { maxQuantity: '500' }, ...changed },
  { accountId: 'SIM-1001', principal: 'somebody-else', bounds: { maxQuantity: '1' }, ...changed },
];

function problem(status: number, code: string): Reply {
  return { status, body: problemBody(status, code, `it is ${code}`) };
}
