import type { CommandRequest } from '../../../src/domain/command.ts';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { writeFixtures } from '../../../src/venue/platform/fixtures/writes.ts';
import type { WriteName } from '../../../src/venue/platform/order-writes.ts';
import { writeOrder } from '../../../src/venue/platform/order-writes.ts';
import { SocketWriteLines, type SocketWriteOptions } from '../../../src/venue/platform/socket-write-lines.ts';
import type { TokenSource } from '../../../src/venue/tokens.ts';
import type { WriteOptions, WriteResult } from '../../../src/venue/write-result.ts';
import type { WriteDeps } from '../../../src/venue/write-venue.ts';

/** A token that never ends, counted each time it is asked for. */
export function fixedToken(token = 'a-token'): TokenSource & { renewals: number } {
  const held = { secret: new Secret(token), generation: 7, expiresAtMs: Number.MAX_SAFE_INTEGER };
  const source = {
    renewals: 0,
    get: async () => ({ ok: true as const, token: held }),
    async renew() {
      source.renewals += 1;
      return { ok: true as const, token: held };
    },
    taken: () => undefined,
    onRenewed: () => () => undefined,
  };
  return source;
}

export function writeDeps(tokens: TokenSource = fixedToken(), options: SocketWriteOptions = {}): WriteDeps {
  const lines = new SocketWriteLines({ clock: systemClock }, options);
  return { lines, clock: systemClock, tokens, metrics: createMetrics().platform };
}

/** A write to both addresses, permitted unless `options` say otherwise. */
export function writeTo(
  deps: WriteDeps,
  baseUrl: string,
  request: CommandRequest,
  attemptId: string,
  options: Partial<WriteOptions> = {},
): Promise<WriteResult> {
  const { signal } = new AbortController();
  const permitted = { mayWrite: async () => true, mayStillWrite: () => true, signal, ...options };
  return writeOrder(deps, { platformUrl: baseUrl, stagingUrl: baseUrl }, request, attemptId, permitted);
}

interface WriteCase {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** The body of a good answer. */
  readonly answer: string;
  readonly isPrediction: boolean;
  run(deps: WriteDeps, baseUrl: string, options?: Partial<WriteOptions>): Promise<WriteResult>;
}

function writeCase(name: WriteName, method: string, path: string): WriteCase {
  const { request, attemptId, answers } = writeFixtures[name];
  const { status, text } = answers['accepted'] ?? { status: 0, text: '' };
  return {
    ...{ method, path, status, answer: text, isPrediction: request.stream === 'prediction' },
    run: (deps, baseUrl, options) => writeTo(deps, baseUrl, request, attemptId, options),
  };
}

const predictionPath = '/v1/predictions/orders/7d9f0a52-4c1e-4a53-9d0e-000000000001';

/** Every write that the client can make, with a good answer to it. */
export const writes: Readonly<Record<string, WriteCase>> = {
  placeOrder: writeCase('place_order', 'POST', '/v1/orders'),
  cancelOrder: writeCase('cancel_order', 'DELETE', '/v1/orders/ord-1?accountId=acct-1'),
  placePredictionOrder: writeCase('place_prediction_order', 'POST', '/v1/predictions/orders'),
  replacePredictionOrder: writeCase('replace_prediction_order', 'PATCH', predictionPath),
  cancelPredictionOrder: writeCase('cancel_prediction_order', 'DELETE', `${predictionPath}?accountId=acct-1`),
};
