import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parsePlaceAccount, parsePlacePrediction } from '../../src/contract/command-bodies.ts';
import { parseReplace } from '../../src/contract/replace-bodies.ts';
import type { CommandRequest } from '../../src/domain/command.ts';
import { canonicalRequest, canonicalTerms } from '../../src/domain/command-checks.ts';
import { orderRequest, predictionOrderRequest, replaceRequest } from '../../src/venue/platform/wire/order-writes.ts';

// Any two spellings of one order that the platform would take as the same give the same hash, the
// same JSON in the journal and the same bytes; two orders differ in each.

type Body = Readonly<Record<string, unknown>>;
const absent = Symbol('absent');

interface Forms {
  /**
   * What a place is known by: its hash, its terms (SQL compares
   * their JSON) and the bytes that are sent.
   */
  readonly hash: string;
  readonly terms: string;
  readonly bytes: string;
}

function formsOf(
  request: CommandRequest,
  shape: typeof orderRequest | typeof predictionOrderRequest | typeof replaceRequest,
): Forms {
  const { kind, accountId } = request;
  const terms = kind === 'cancel' ? {} : request.terms;
  return {
    hash: canonicalRequest({ request }),
    terms: canonicalTerms(request),
    bytes: JSON.stringify(shape.parse({ ...terms, accountId })),
  };
}

function ofAccount(body: Body): Forms {
  const parsed = parsePlaceAccount(body);
  if (!parsed.ok) throw new Error(JSON.stringify([body, parsed.faults]));
  const { accountId, terms } = parsed;
  return formsOf({ kind: 'place', stream: 'account', accountId, terms }, orderRequest);
}

function ofPrediction(body: Body): Forms {
  const parsed = parsePlacePrediction(body);
  if (!parsed.ok) throw new Error(JSON.stringify([body, parsed.faults]));
  const { accountId, terms } = parsed;
  return formsOf({ kind: 'place', stream: 'prediction', accountId, terms }, predictionOrderRequest);
}

function ofReplace(body: Body): Forms {
  const parsed = parseReplace(body);
  if (!parsed.ok) throw new Error(JSON.stringify([body, parsed.faults]));
  const { accountId, terms } = parsed;
  return formsOf({ kind: 'replace', stream: 'prediction', accountId, orderId: 'p-1', terms }, replaceRequest);
}

// The order that is meant, each field once. Its spellings follow.

const amount = fc
  .tuple(fc.integer({ min: 1, max: 99_999 }), fc.integer({ min: 0, max: 99 }))
  .map(([a, b]) => `${a}.${b}5`);
const leg = fc.record({
  symbol: fc.constantFrom('AAPL261218C00200000', 'AAPL1261218P00220000', 'GOOGL1261218C00200000', 'F261218C00012000'),
  side: fc.constantFrom('BUY', 'SELL'),
  ratioQty: fc.constantFrom('1', '2', '0.5'),
  positionEffect: fc.constantFrom('OPEN', 'CLOSE'),
});
const account = fc
  .record({
    accountId: fc.constantFrom('acct-1', 'acct-2'),
    symbol: fc.constantFrom('AAPL', 'BRK.B', 'F', 'AAPL261218C00200000'),
    side: fc.constantFrom('BUY', 'SELL'),
    type: fc.constantFrom('MARKET', 'LIMIT', 'STOP', 'STOP_LIMIT'),
    timeInForce: fc.constantFrom('DAY', 'GTC'),
    qty: amount,
    price: amount,
    stopPrice: amount,
    currency: fc.constantFrom('USD', 'EUR'),
    exDestination: fc.constantFrom('', 'SMART', 'XNYS'),
    legs: fc.array(leg, { maxLength: 4 }),
  })
  .map(({ price, stopPrice, legs, ...rest }) => ({
    ...rest,
    ...(rest.type.endsWith('LIMIT') && { price }),
    ...(rest.type.startsWith('STOP') && { stopPrice }),
    legs: legs.map((each, at) => (at === 0 ? { ...each, side: rest.side } : each)),
  }));
type Meant = typeof account extends fc.Arbitrary<infer T> ? T : never;

const cased = (text: string) => fc.constantFrom(text, text.toLowerCase());
const decimal = (text: string) => fc.constantFrom(text, `${text}0`, `${text}000`);
const whole = (text: string) =>
  text.includes('.') ? decimal(text) : fc.constantFrom(text, `${text}.0`, `${text}.000`);
const nothing = (...forms: unknown[]) => fc.constantFrom<unknown>(absent, null, ...forms);
const symbol = (text: string) =>
  fc.constantFrom(...[text, text.toLowerCase(), ` ${text}`, ...padded(text)]).filter((each) => each.length > 0);

function padded(text: string): readonly string[] {
  const tail = /\d{6}[CP]\d{8}$/.exec(text)?.[0];
  if (tail === undefined) return [];
  const root = text.slice(0, -tail.length);
  return [`${root.padEnd(6)}${tail}`, `${root} ${tail}`, `O:${text}`];
}

/** Legs of the order's side in any order, then all in any order that has one of its side first. */
function spelledLegs(meant: Meant): fc.Arbitrary<unknown> {
  if (meant.legs.length === 0) return nothing([]);
  return fc
    .shuffledSubarray(meant.legs, { minLength: meant.legs.length })
    .filter(([first]) => first?.side === meant.side)
    .chain((legs) =>
      fc.tuple(
        ...legs.map((each) =>
          fc.record({ ...constants(each), symbol: symbol(each.symbol), ratioQty: whole(each.ratioQty) }),
        ),
      ),
    );
}

const constants = (of: object) =>
  Object.fromEntries(Object.entries(of).map(([name, value]) => [name, fc.constant<unknown>(value)]));

/** Any order of the fields; those that are absent are left out. */
function bodyOf(fields: Readonly<Record<string, fc.Arbitrary<unknown>>>): fc.Arbitrary<Body> {
  return fc
    .tuple(fc.record(fields), fc.shuffledSubarray(Object.keys(fields), { minLength: Object.keys(fields).length }))
    .map(([values, names]) =>
      Object.fromEntries(names.map((name) => [name, values[name]]).filter(([, value]) => value !== absent)),
    );
}

function spelled(meant: Meant): fc.Arbitrary<Body> {
  const { qty, price, stopPrice, currency, exDestination, accountId, ...rest } = meant;
  return fc.boolean().chain((isAlias) =>
    bodyOf({
      ...constants(rest),
      [isAlias ? 'tradingAccountId' : 'accountId']: fc.constant(accountId),
      symbol: symbol(meant.symbol),
      qty: decimal(qty),
      price: price === undefined ? nothing() : decimal(price),
      stopPrice: stopPrice === undefined ? nothing() : decimal(stopPrice),
      currency: currency === 'USD' ? nothing('', 'USD', 'usd', 'Usd') : cased(currency),
      exDestination: exDestination === '' ? nothing('') : cased(exDestination),
      legs: spelledLegs(meant),
      clientId: nothing(''),
      supersedes: nothing(),
    }),
  );
}

const instant = fc.integer({ min: 1_790_000_000_000, max: 1_890_000_000_000 });

/** One instant, in several zones and with more or fewer digits. */
function spelledInstant(ms: number): fc.Arbitrary<string> {
  return fc
    .record({
      minutes: fc.integer({ min: -14 * 60, max: 14 * 60 }),
      digits: fc.constantFrom('', '0', '000', '000000'),
      zulu: fc.boolean(),
    })
    .map(({ minutes, digits, zulu }) => {
      const local = new Date(ms + (zulu ? 0 : minutes * 60_000)).toISOString().slice(0, 23);
      const part = local.endsWith('.000') && digits === '' ? local.slice(0, 19) : `${local}${digits}`;
      const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60].map((each) =>
        String(each).padStart(2, '0'),
      );
      return `${part}${zulu ? 'Z' : `${minutes < 0 ? '-' : '+'}${hours}:${rest}`}`;
    });
}

const prediction = fc.record({
  accountId: fc.constantFrom('acct-1', 'acct-2'),
  symbol: fc.constantFrom('FED-CUT', 'CPI-3'),
  outcome: fc.constantFrom('YES', 'NO'),
  side: fc.constantFrom('buy', 'sell'),
  quantity: amount,
  price: fc.integer({ min: 1, max: 98 }).map((n) => `0.${String(n).padStart(2, '0')}5`),
  expireAt: instant,
});
type MeantPrediction = typeof prediction extends fc.Arbitrary<infer T> ? T : never;

function spelledPrediction({ quantity, price, expireAt, ...rest }: MeantPrediction): fc.Arbitrary<Body> {
  return bodyOf({
    ...constants({ ...rest, orderType: 'limit', timeInForce: 'gtd' }),
    ...{
      symbol: symbol(rest.symbol),
      quantity: decimal(quantity),
      price: decimal(price),
      expireTime: spelledInstant(expireAt),
    },
    ...{ stopPx: nothing(), clientOrderRef: nothing(), supersedes: nothing() },
  });
}

function spelledReplace({ accountId, quantity, price, expireAt }: MeantPrediction): fc.Arbitrary<Body> {
  const expireTime = spelledInstant(expireAt);
  return bodyOf({ accountId: fc.constant(accountId), quantity: decimal(quantity), price: decimal(price), expireTime });
}

/** Without the order of legs: the exchange sees a set. */
function meaningOf(meant: Meant): string {
  return JSON.stringify({ ...meant, legs: meant.legs.map((each) => JSON.stringify(each)).sort() });
}

function expectDifferent(a: Forms, b: Forms): void {
  for (const form of ['hash', 'terms', 'bytes'] as const) expect(a[form]).not.toBe(b[form]);
}

describe('every spelling of one order', () => {
  it('of an equity or options has one hash, one form in the journal and the same bytes', () => {
    fc.assert(
      fc.property(
        account.chain((meant) => fc.tuple(spelled(meant), spelled(meant))),
        ([a, b]) => {
          expect(ofAccount(a)).toEqual(ofAccount(b));
        },
      ),
      { numRuns: 500 },
    );
  });

  it('of a prediction order and of a replace likewise', () => {
    fc.assert(
      fc.property(
        prediction.chain((meant) =>
          fc.tuple(spelledPrediction(meant), spelledPrediction(meant), spelledReplace(meant), spelledReplace(meant)),
        ),
        ([a, b, c, d]) => {
          expect(ofPrediction(a)).toEqual(ofPrediction(b));
          expect(ofReplace(c)).toEqual(ofReplace(d));
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe('two orders', () => {
  it('that differ in one field differ in hash, journal and bytes', () => {
    fc.assert(
      fc.property(
        fc
          .tuple(
            account,
            account,
            fc.constantFrom('accountId', 'symbol', 'qty', 'timeInForce', 'currency', 'exDestination', 'legs'),
          )
          .map(([one, other, name]) => [one, { ...one, [name]: other[name as keyof Meant] } as Meant] as const)
          .filter(
            ([one, other]) => meaningOf(one) !== meaningOf(other) && (other.legs[0]?.side ?? other.side) === other.side,
          )
          .chain(([one, other]) => fc.tuple(spelled(one), spelled(other))),
        ([a, b]) => expectDifferent(ofAccount(a), ofAccount(b)),
      ),
      { numRuns: 500 },
    );
  });

  it('of predictions that differ in one field do, too', () => {
    fc.assert(
      fc.property(
        fc
          .tuple(prediction, prediction, fc.constantFrom('outcome', 'side', 'quantity', 'price', 'expireAt'))
          .map(
            ([one, other, name]) =>
              [one, { ...one, [name]: other[name as keyof MeantPrediction] } as MeantPrediction] as const,
          )
          .filter(([one, other]) => JSON.stringify(one) !== JSON.stringify(other))
          .chain(([one, other]) => fc.tuple(spelledPrediction(one), spelledPrediction(other))),
        ([a, b]) => expectDifferent(ofPrediction(a), ofPrediction(b)),
      ),
      { numRuns: 300 },
    );
  });
});
