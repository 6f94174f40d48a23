import { Readable } from 'node:stream';
import Fastify, { type FastifyInstance } from 'fastify';
import { z } from 'zod';
import { isByPage } from '../../runtime/browser-guard.ts';
import { isLoopbackHost } from '../../runtime/url-host.ts';
import { wholeNumber } from '../bounded.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { type ExchangeOrder, isClosed, type Stream } from '../exchange/exchange-order.ts';
import type { VenueWords } from '../exchange/venue-words.ts';
import { jsonText } from '../exchange/wire-text.ts';
import { faultOrder } from '../faults/fault-shapes.ts';
import type { Wire } from '../faults/wire-words.ts';
import { readLedger } from '../ledger/read-ledger.ts';
import { rateOf } from '../sandbox-options.ts';
import type { SandboxParts } from '../sandbox-parts.ts';
import { venueChange } from '../venue/venue.ts';
import { accountChange, type ControlRefusal, type Controls, newAccount } from './controls.ts';
import { handMadeOrder } from './open-by-hand.ts';
import { castVerbs, orderVerb } from './order-verbs.ts';

const ratePart = z.strictObject({ rate: z.union([z.number().min(0), z.literal('max')]) });
const pricePart = z.strictObject({ symbol: z.string().min(1), price: z.string().regex(/^\d{1,5}(\.\d{1,2})?$/) });
const burstPart = z.strictObject({ count: wholeNumber(1, 10_000_000) });
const ledgerPart = z.object({
  since: z.coerce.number().int().min(0).default(0),
  kind: z.string().optional(),
  limit: z.coerce.number().int().min(1).optional(),
});
const statePart = z.object({ stream: z.string().optional(), accountId: z.string().optional() });

interface ControlAppDeps {
  readonly parts: SandboxParts;
  readonly controls: Controls;
  /** Ends the sandbox after the answer has gone out. */
  readonly onStop: () => void;
  /** The port listens on this address. */
  readonly host: string;
}

/**
 * The control port: loopback only, no authentication, never a part of the platform
 * (docs/platform-assumptions.md, "The sandbox's first line").
 */
export function createControlApp(deps: ControlAppDeps): FastifyInstance {
  const app = Fastify({ logger: false, forceCloseConnections: true, routerOptions: { maxParamLength: 2_000 } });
  app.removeContentTypeParser('text/plain');
  const onLoopback = isLoopbackHost(deps.host);
  // A developer's open page reaches this port, and a verb without a body needs no JSON.
  app.addHook('onRequest', async (request, reply) => {
    if (isByPage(request.raw, onLoopback)) return reply.code(403).send({ error: 'web pages may not use this port' });
  });
  app.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    const status = error instanceof z.ZodError ? 400 : (error.statusCode ?? 500);
    return reply.code(status).send({ error: error instanceof z.ZodError ? z.prettifyError(error) : error.message });
  });
  app.get('/', async (_request, reply) => reply.type('text/plain').send(handbook));
  faultVerbs(app, deps);
  marketVerbs(app, deps);
  castVerbs(app, deps.parts, deps.controls);
  accountVerbs(app, deps);
  readVerbs(app, deps);
  app.post('/stop', async (_request, reply) => {
    reply.raw.once('close', deps.onStop);
    return { stopping: true };
  });
  return app;
}

function faultVerbs(app: FastifyInstance, { parts, controls }: ControlAppDeps): void {
  app.get('/faults', async () => ({ ...parts.faults.describe(), wire: parts.wire.describe() }));
  verb(app, '/faults', faultOrder, (order) => controls.faults(order));
  app.post('/heal', async () => {
    controls.heal();
    return { healed: true };
  });
}

function marketVerbs(app: FastifyInstance, { parts, controls }: ControlAppDeps): void {
  verb(app, '/rate', ratePart, ({ rate }) => {
    controls.setRate(rateOf(rate));
    return { rate };
  });
  verb(app, '/burst', burstPart, ({ count }) => {
    controls.burst(count);
    return { count };
  });
  verb(app, '/venue', venueChange, (change) => controls.setVenue(change));
  verb(app, '/prices', pricePart, ({ symbol, price }) =>
    controls.setPrice(symbol, Math.max(1, Math.round(Number(price) * 100))),
  );
  app.post('/day', async () => controls.endDay());
  const row = (order: ExchangeOrder | ControlRefusal) => ('refused' in order ? order : parts.words.row(order));
  verb(app, '/orders', handMadeOrder, (made) => row(controls.openOrder(made)));
  verb(app, '/orders/:id', orderVerb, (move, orderId) => row(controls.moveOrder(orderId, move)));
}

function accountVerbs(app: FastifyInstance, { controls }: ControlAppDeps): void {
  verb(app, '/accounts', newAccount, (account) => controls.openAccount(account));
  verb(app, '/accounts/:id', accountChange, (change, accountId) => controls.changeAccount(accountId, change));
}

function readVerbs(app: FastifyInstance, { parts, controls }: ControlAppDeps): void {
  app.get('/status', async () => controls.status());
  app.get('/ledger', async (request, reply) => {
    const { since, kind, limit } = ledgerPart.parse(request.query);
    const kinds = kind === undefined ? undefined : new Set(kind.split(','));
    return reply.type('application/x-ndjson').send(Readable.from(readLedger(parts.ledger, { since, kinds, limit })));
  });
  app.get('/state', async (request, reply) => {
    const filter = statePart.parse(request.query);
    return reply.type('application/x-ndjson').send(Readable.from(readState(parts, filter)));
  });
}

/** A verb with a body. Its answer: an object, JSON, or why not. */
function verb<Shape extends z.ZodType>(
  app: FastifyInstance,
  path: string,
  shape: Shape,
  act: (body: z.output<Shape>, id: string) => object | string | ControlRefusal,
): void {
  app.post(path, async (request, reply) => {
    const { id = '' } = request.params as { readonly id?: string };
    const result = act(shape.parse(request.body ?? {}), id);
    if (typeof result === 'string') return reply.type('application/json').send(result);
    if (!('refused' in result)) return result;
    const { refused: code, message: error } = result as ControlRefusal;
    return reply.code(code === 'not_possible' ? 409 : 404).send({ error, code });
  });
}

const chunkChars = 64 * 1024;

/**
 * Every order's present truth as NDJSON, in chunks of whole lines: `{ stream, accountId, orderId,
 * version?, closed, order }`. Orders that change during the read may show either state, so ask
 * after the market was stopped (`POST /rate` with 0).
 */
export function* readState(
  { exchange, words, wire }: { exchange: Exchange; words: VenueWords; wire?: Wire },
  filter: { stream?: string | undefined; accountId?: string | undefined },
): Generator<string> {
  let chunk = '';
  for (const account of exchange.accounts.values()) {
    if (filter.accountId !== undefined && filter.accountId !== account.id) continue;
    for (const stream of ['account', 'prediction'] as const satisfies Stream[]) {
      if (filter.stream !== undefined && filter.stream !== stream) continue;
      for (const order of exchange.ordersOf(account, stream)) {
        chunk += stateLine(order, words, wire);
        if (chunk.length < chunkChars) continue;
        yield chunk;
        chunk = '';
      }
    }
  }
  if (chunk !== '') yield chunk;
}

function stateLine(order: ExchangeOrder, words: VenueWords, wire: Wire | undefined): string {
  const { stream, account, orderId } = order.terms;
  const version = stream === 'prediction' ? `,"version":"${order.version}"` : '';
  const row = words.row(order);
  return `{"stream":"${stream}","accountId":${jsonText(account.id)},"orderId":${jsonText(orderId)}${version},"closed":${isClosed(order.state)},"order":${wire?.worded(row) ?? row}}\n`;
}

/** The control port's `GET /`. */
const handbook = `# Tidemark sandbox: the control port

Bodies are JSON. Answers are JSON, or NDJSON where it says so.

POST /faults      {"stream":{"duplicate":0.05,"reorder":0.05,"drop":0.001,"silent_loss":0.001,"garbage":0.001,"foreign":0.001,"cut":0.0001,"half_open":0.0001},
                   "requests":{"lag":0.2,"status_401":0.01,"status_403":0,"status_429":0.01,"status_500":0.01,"status_503":0.01,"html":0.01,"redirect":0,"torn":0.01,"hang":0.001,"reset":0.01},
                   "writes":{"outcome_unknown":0.1,"status_504":0,"at_capacity":0,"unavailable":0,"status_429":0,"status_503":0,"status_500":0,"html":0,"redirect":0,
                             "status_401":0,"torn":0,"hang":0,"reset":0,"wrong_order":0},
                   "orders":{"hidden":0,"unreferenced":0},
                   "wire":{"nulls":0.5,"extras":0.5,"numbers":0.5,"contracts":true,"padded":0.5,"longAverages":true,"coarse":true,"fillWords":true,"ids":true,"renamed":{"AAPL":"AAPLX"}},
                   "lagMs":2000,"lateMs":1000,"concealMs":[500,5000],
                   "rules":[{"on":"event","fault":"silent_loss","orderId":"...","skip":0,"times":1},
                            {"on":"request","fault":"status_500","method":"GET","path":"/v1/orders","times":3},
                            {"on":"write","fault":"outcome_unknown","applied":"late","delayMs":500,"write":"place","reference":"..."},
                            {"on":"write","fault":"torn","at":120},
                            {"on":"order","fault":"hidden","forMs":120000,"reference":"..."},
                            {"on":"upgrade","fault":"html"},
                            {"on":"subscribe","fault":"no_ack","accountId":"..."}],
                   "now":[{"action":"cut","how":"rst"},{"action":"half_open"},{"action":"close","code":1012},{"action":"garbage","kind":"bad_utf8"},
                          {"action":"foreign"},{"action":"revoke_tokens"},{"action":"expire_tokens","lifetimeSeconds":5},
                          {"action":"unknown_gap","accountId":"...","forMs":2000},
                          {"action":"unknown_store_lost","accountId":"...","forMs":2000,"forgotten":0}]}
                  Every part may be left out. Rates are probabilities per event and connection, or per GET; they are merged by name, 0 switches off.
                  A write is a POST, PATCH or DELETE of an order that order entry understood. "applied" says whether it is done all the same: no, yes (before the
                  answer) or late; a rate draws it.
                  An order that a caller placed may be hidden (from lists, GETs and streams) or unreferenced (in lists and GETs) for a while.
                  wire is how the platform words what it says (also GET /state): fields that may be left out come as null or empty, there are unknown ones, decimals
                  are numbers or have 40 digits, orders of one option have its contract's symbol, padded, updatedAt ends at the second, symbols have another name;
                  ids: new orders have an id with characters like / % ? # and blanks.
                  lateMs, concealMs, delayMs and forMs are milliseconds, or [from,to] to draw between.
                  Actions may name "stream" (account, prediction) and "accountId".
GET  /faults      what is on now
POST /heal        ends every fault; what was held back is let go
POST /rate        {"rate":100} changes a second, 0 stops the market, "max" is as fast as the machine and the readers can
POST /burst       {"count":50000} changes on top, at once
POST /venue       {"answerMs":20} or "manual"; refuseShare, depth (units a print offers), capacity (beyond it 429), session "up" or "down" (503), orderLimit
POST /prices      {"symbol":"AAPL","price":"221.50"} trades there now
POST /day         {} ends the trading day: day orders that people placed expire
POST /orders      {"stream":"prediction","accountId":"..."} an order placed elsewhere; optional: orderId, symbol, side, orderType, timeInForce, quantity, price,
                  stopPrice, outcome, clOrdId, clientOrderRef, version (at most 2^63 - 1 - 1000000: it rises with each change), "accepted":false (waits for the venue), "live":true (the market moves it)
POST /orders/{id} {"action":"accept"|"refuse"|"fill"|"cancel"|"expire"|"ask_replace"|"ask_cancel"|"suspend"|"done_for_day"|"resume"|"correct"|"take_back"};
                  refuse: reason, text; fill: quantity, price; ask_replace: quantity, price; correct: cumQty; take_back: the end of an order that is not filled
POST /users       {"username":"dave","password":"…","mfa":null|"123456","accounts":[{"id":"SIM-2001","predictions":true}]} a person who can sign in
POST /accounts    {"id":"SIM-2002","username":"dave","predictions":true} a new account of a user who is there
POST /accounts/{id} {"status":"OPEN"|"CLOSED"|"RESTRICTED","predictions":true|false,"listed":true|false} closes it or opens it again, enrols it for prediction orders or
                  takes that back, leaves it out of the accounts list;
                  its orders stay as they are; "keyNumber":2 ends its key pair at Alpaca, and makes another
POST /clients     {"clientId":"…","clientSecret":"…" (left out: public),"redirectUris":["…"],"scopes":["…"],"users":["…"]} an app
POST /refresh-mode {"mode":"none"|"rotate"|"grace"} what a refresh does to the refresh token
POST /end-logins  {"username":"…","clientId":"…"} takes consent back: refresh tokens and access tokens of these logins end; {} all of them
GET  /ledger      NDJSON of everything received and emitted; ?kind=change,event (start, request, decision, answer, token, sign_in, session, change, event, fault), ?since=<seq>, &limit=<lines>
GET  /state       NDJSON of the present truth of every order; ?stream=, ?accountId=
GET  /status      counts
POST /stop        ends the sandbox
`;
