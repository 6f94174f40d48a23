import { describe, expect, it } from 'vitest';
import { createMetrics } from '../../src/observability/metrics.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { Secret } from '../../src/runtime/secret.ts';
import { seededRandom } from '../../src/sandbox/seeded-random.ts';
import type { HttpRequest, HttpResult } from '../../src/venue/http.ts';
import { answeredError } from '../../src/venue/platform-error.ts';
import { type Dialect, readVenue, type SignedRequest } from '../../src/venue/read-venue.ts';
import type { WriteRequest } from '../../src/venue/write-result.ts';
import { writeVenue } from '../../src/venue/write-venue.ts';

const signal = new AbortController().signal;
const answered = (status: number): HttpResult => ({ kind: 'answered', status, headers: {}, text: '{}' });
const signature = ({ method, url, body = '', atMs }: SignedRequest) => `${method} ${url} ${body}${atMs}`;
const dialect: Dialect = {
  sign: (credential, request) => ({ signed: `${credential.reveal()} ${signature(request)}` }),
  errorOf: (status, _body, retryAfterMs) => answeredError(status, { message: 'no' }, retryAfterMs),
};

/** A second passes at each look at the clock. */
function signer() {
  let ms = 0;
  const clock = {
    ...systemClock,
    nowMs: () => {
      ms += 1_000;
      return ms;
    },
    sleep: () => systemClock.turn(),
  };
  const token = { secret: new Secret('hush'), generation: 1, expiresAtMs: Number.POSITIVE_INFINITY };
  const held = async () => ({ ok: true, token }) as const;
  const tokens = { get: held, renew: held, taken: () => undefined, onRenewed: () => () => undefined };
  return { clock, tokens, metrics: createMetrics().platform, random: seededRandom(1) };
}

describe('issue: A venue that signs its requests could not be followed: the signer saw the key alone.', () => {
  it('signs each attempt of a read by its method, its address and its own time', async () => {
    const seen: HttpRequest[] = [];
    const request = async (sent: HttpRequest) => {
      seen.push(sent);
      return answered(seen.length === 1 ? 503 : 200);
    };
    const http = { request, close: async () => undefined };
    const read = { operation: 'list_orders', url: 'http://venue/orders?a=1' };
    expect(await readVenue({ ...signer(), http }, dialect, read, signal)).toMatchObject({ ok: true });
    expect(seen.map(({ headers }) => headers['signed'])).toEqual([
      'hush GET http://venue/orders?a=1 1000',
      'hush GET http://venue/orders?a=1 2000',
    ]);
  });

  it('signs a write by its body too', async () => {
    const seen: WriteRequest[] = [];
    const send = async (sent: WriteRequest) => {
      seen.push(sent);
      return answered(200);
    };
    const lines = { open: async () => ({ open: true, line: { send, close: () => undefined } }) as const };
    const judge = () => ({ kind: 'accepted', answer: {} }) as const;
    const write = { operation: 'place_order', method: 'POST', url: 'http://venue/orders', body: '{}', judge } as const;
    const options = { mayWrite: async () => true, mayStillWrite: () => true, signal };
    expect(await writeVenue({ ...signer(), lines }, dialect.sign, write, options)).toMatchObject({ kind: 'accepted' });
    expect(seen.map(({ headers }) => headers['signed'])).toEqual(['hush POST http://venue/orders {}1000']);
  });
});
