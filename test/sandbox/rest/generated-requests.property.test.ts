import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { readState } from '../../../src/sandbox/control/control-app.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { type RunningSandbox, startSandbox } from '../../../src/sandbox/start-sandbox.ts';
import { parseJson } from '../../../src/venue/parse-json.ts';
import { errorFromAnswer } from '../../../src/venue/platform/read-platform.ts';
import type { Endpoint } from '../../support/platform/endpoint.ts';
import { endpoints } from '../../support/platform/endpoint-table.ts';
import { type Answer, ask, signedIn } from '../../support/platform/sandbox.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { arbitraryOf, breaksOf, schemaOf } from '../arbitrary-schema.ts';

type Values = Record<string, unknown>;
/** The fields of the query or of the body: no endpoint has both. */
type Send = (sandbox: RunningSandbox, values: Values | string, token?: Record<string, string>) => Promise<Answer>;

const start = () =>
  startSandbox(
    // The venue answers nobody by itself, so that nothing changes
    // but by the request that is looked at.
    { market: { rate: 0, openOrders: 20, knownOrders: 40 }, venue: { answerMs: 'manual' } },
    { clock: systemClock, random: seededRandom(1), log: silentLog },
  );

let shared: RunningSandbox;
beforeAll(async () => {
  shared = await start();
});
afterAll(() => shared.stop());

async function withSandbox(endpoint: Endpoint, use: (sandbox: RunningSandbox) => Promise<void>): Promise<void> {
  if (endpoint.fresh === undefined) return use(shared);
  const own = await start();
  try {
    await use(own);
  } finally {
    await own.stop();
  }
}

/** All that a request could change: orders, settings, addresses. */
function stateOf({ parts }: RunningSandbox): string {
  return [...readState(parts, {})].join('') + parts.users.snapshot();
}

/** Makes what the path needs, if it isn't there. */
async function pathOf({ path }: Endpoint, sandbox: RunningSandbox): Promise<string> {
  return typeof path === 'string' ? path : path(sandbox);
}

function sender(endpoint: Endpoint): Send {
  return async (sandbox, values, token) => {
    const { description } = sandbox;
    const path = await pathOf(endpoint, sandbox);
    const good = token ?? (endpoint.scope === undefined ? {} : await signedIn(description, endpoint.scope));
    const headers = { ...good, ...endpoint.headers?.(sandbox) };
    const url = `${description[endpoint.listener]}${path}`;
    if (endpoint.body === undefined) return ask(`${url}${queryOf(values)}`, { method: endpoint.method, headers });
    const body = typeof values === 'string' ? values : JSON.stringify(values);
    return ask(url, { method: endpoint.method, headers: { ...headers, 'content-type': 'application/json' }, body });
  };
}

function queryOf(values: Values | string): string {
  if (typeof values === 'string') return `?${encodeURI(values.toWellFormed())}`;
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value !== undefined) query.set(name, String(value));
  return `?${query}`;
}

function validOf({ query, body, known, complete = (value) => value }: Endpoint): fc.Arbitrary<Values> {
  const shape = body ?? query;
  if (shape === undefined) return fc.constant({});
  return (arbitraryOf(schemaOf(shape), known) as fc.Arbitrary<Values>).map(complete);
}

/**
 * A valid request with something more in each list and at the end of each text: what is known
 * stands beside what isn't.
 */
function nearly(values: Values, text: string): Values {
  const more = (value: unknown) =>
    Array.isArray(value) ? [...value, text] : typeof value === 'string' ? value + text : value;
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, more(value)]));
}

function codeOf(answer: Answer): string | undefined {
  return errorFromAnswer(answer.status, answer.text === '' ? undefined : parseJson(answer.text)).code;
}

describe.each(endpoints)('$name', (endpoint) => {
  const send = sender(endpoint);
  const shape = endpoint.body ?? endpoint.query;
  const breaks =
    shape === undefined
      ? []
      : breaksOf(schemaOf(shape), { isText: endpoint.body === undefined }).filter(
          ({ field, keyword }) => endpoint.tolerated?.includes(`${field} ${keyword}`) !== true,
        );

  it('accepts every request that its schema allows', async () => {
    await fc.assert(
      fc.asyncProperty(validOf(endpoint), (values) =>
        withSandbox(endpoint, async (sandbox) => {
          const answer = await send(sandbox, values);
          expect([answer.status, answer.status >= 400 ? answer.text : '']).toEqual([
            expect.toSatisfy((status: number) => endpoint.accepted.includes(status)),
            '',
          ]);
        }),
      ),
      { numRuns: shape === undefined ? 1 : 10 },
    );
  });

  if (breaks.length > 0) {
    it('refuses a request that breaks one keyword, with the right code, and changes nothing', async () => {
      const broken = fc
        .constantFrom(...breaks)
        .chain((it) => fc.record({ valid: validOf(endpoint), how: fc.constant(it), value: it.values }));
      await pathOf(endpoint, shared);
      const before = stateOf(shared);
      await fc.assert(
        fc.asyncProperty(broken, async ({ valid, how: { field, keyword }, value }) => {
          const answer = await send(shared, { ...valid, [field]: value });
          expect({ status: answer.status, code: codeOf(answer) }).toEqual({
            code: undefined,
            ...endpoint.refused(field, keyword),
          });
          expect(stateOf(shared) === before).toBe(true);
        }),
        { numRuns: Math.max(20, breaks.length * 4) },
      );
    });
  }

  it('answers whatever comes without a 5xx, and changes nothing on a 4xx', async () => {
    const anything = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc.json({ maxDepth: 4 }),
      fc.dictionary(
        fc.string({ maxLength: 12 }),
        fc.oneof(fc.string({ unit: 'binary' }), fc.integer(), fc.constant(null)),
        {
          maxKeys: 6,
        },
      ),
      fc
        .tuple(validOf(endpoint), fc.string({ minLength: 1, maxLength: 8 }))
        .map(([values, text]) => nearly(values, text)),
    );
    await fc.assert(
      fc.asyncProperty(anything, async (values) => {
        await pathOf(endpoint, shared);
        const before = stateOf(shared);
        const answer = await send(shared, values);
        expect(answer.status).toBeLessThan(500);
        if (answer.status >= 400) expect(stateOf(shared) === before).toBe(true);
      }),
      { numRuns: 20 },
    );
  });

  if (endpoint.scope !== undefined) {
    it('lets nobody in without a good token of its scope, and changes nothing', async () => {
      await pathOf(endpoint, shared);
      const before = stateOf(shared);
      const [values = {}] = fc.sample(validOf(endpoint), 1);
      const others = await signedIn(shared.description, 'watchlist:management');
      expect((await send(shared, values, {})).status).toBe(401);
      expect((await send(shared, values, { authorization: 'Bearer e30.e30.e30' })).status).toBe(401);
      expect((await send(shared, values, others)).status).toBe(403);
      expect(stateOf(shared) === before).toBe(true);
    });
  }
});
