import fc from 'fast-check';
import Fastify from 'fastify';
import { beforeAll, describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { commandResultRecord } from '../../src/contract/command-result.ts';
import { normalisedOrder } from '../../src/contract/normalised-order.ts';
import { updateRecord, watermarkRecord } from '../../src/contract/update-record.ts';
import { attemptStates, type Command, commandStates } from '../../src/domain/command.ts';
import type { BatchProof } from '../../src/domain/committed-batch.ts';
import { encodeCommandResult } from '../../src/domain/encode-command-result.ts';
import { encodeOrder, encodeUpdate, encodeWatermark } from '../../src/domain/encode-update.ts';
import type { Observation, Watermark } from '../../src/domain/observation.ts';
import {
  attemptOf,
  cancelOf,
  commandOf,
  placeEquity,
  placePrediction,
  predictionOrder,
  replaceOf,
} from '../support/commands/resolving.ts';
import { accountObservations, predictionObservations } from '../support/orders/arbitrary-orders.ts';
import { fold } from '../support/orders/observe.ts';
import { toJsonSchema } from './to-json-schema.ts';

type Validate = (value: unknown) => boolean;

/**
 * The validator that fastify brings, so that the JSON Schema is judged by
 * somebody else than the library that wrote it.
 */
async function validators(shapes: Readonly<Record<string, z.ZodType>>): Promise<Record<string, Validate>> {
  const made: Record<string, Validate> = {};
  const app = Fastify({ ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false } } });
  app.get('/', async (request) => {
    for (const [name, shape] of Object.entries(shapes)) {
      const validate = request.compileValidationSchema(toJsonSchema(shape, 'draft-07') as never);
      made[name] = (value) => Boolean(validate(value));
    }
    return {};
  });
  await app.inject('/');
  await app.close();
  return made;
}

let valid: Record<string, Validate>;
beforeAll(async () => {
  valid = await validators({ updateRecord, watermarkRecord, normalisedOrder, commandResultRecord });
});

function updatesOf(observations: readonly Observation[]): string[] {
  return fold(observations).reductions.flatMap((reduction) => {
    if (reduction.result !== 'applied') return [];
    const { head, changed, fill } = reduction;
    const rest = {
      generation: 0,
      batch: { lane: 0, number: 9_007_199_254_740_993n },
      cause: 'stream',
      occurredAt: head.order.updatedAt,
      observedAt: '2026-11-21T12:00:00.000Z',
    } as const;
    return [encodeUpdate({ head, orderJson: encodeOrder(head.order), changed, ...(fill && { fill }), ...rest })];
  });
}

/**
 * Parsing drops what a shape doesn't know, so an equal result
 * also means that nothing unknown is sent.
 */
function expectShape(shape: z.ZodType, name: string, text: string): void {
  const value: unknown = JSON.parse(text);
  expect(shape.parse(value)).toEqual(value);
  expect(valid[name]?.(value)).toBe(true);
}

describe('what is published', () => {
  it.each([
    ['account', accountObservations()],
    ['prediction', predictionObservations()],
  ])('of any %s order satisfies the update shape, in zod and in JSON Schema', (_stream, observations) => {
    fc.assert(
      fc.property(observations, (set) => {
        for (const text of updatesOf(set)) expectShape(updateRecord, 'updateRecord', text);
        expectShape(normalisedOrder, 'normalisedOrder', encodeOrder(fold(set).head.order));
      }),
    );
  });

  it('about a source satisfies the watermarks shape, in zod and in JSON Schema', () => {
    const epochMs = fc.integer({ min: 0, max: 4_102_444_800_000 });
    const marks: fc.Arbitrary<Watermark> = fc.record(
      {
        kind: fc.constant('watermarks' as const),
        markId: fc.uuid(),
        stream: fc.constantFrom('account' as const, 'prediction' as const),
        accountIds: fc.tuple(fc.string(), fc.string()),
        event: fc.constantFrom('live' as const, 'lost' as const, 'resynchronised' as const, 'heartbeat' as const),
        atMs: epochMs,
        fromMs: epochMs,
        toMs: epochMs,
        reason: fc.string(),
        ordersRead: fc.nat(),
        ordersRepaired: fc.nat(),
        repairedOrderIds: fc.array(fc.string(), { maxLength: 100 }),
      },
      { requiredKeys: ['kind', 'markId', 'stream', 'accountIds', 'event', 'atMs'] },
    );
    const int64 = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });
    const proofs: fc.Arbitrary<BatchProof> = fc.record({
      lane: fc.nat(),
      generation: fc.nat(),
      after: int64,
      upTo: int64,
      count: fc.nat(),
      hash: fc.integer({ min: 0, max: 2 ** 48 - 1 }).map((sum) => sum.toString(16).padStart(12, '0')),
    });
    fc.assert(
      fc.property(marks, fc.option(proofs, { nil: undefined }), (mark, proof) =>
        expectShape(watermarkRecord, 'watermarkRecord', encodeWatermark(mark, proof)),
      ),
    );
  });

  it('of a step of any command satisfies the result shape, in zod and in JSON Schema', () => {
    const reason = fc.record(
      { code: fc.string(), message: fc.string(), status: fc.nat({ max: 599 }) },
      { requiredKeys: ['code', 'message'] },
    );
    const commands: fc.Arbitrary<Command> = fc
      .record(
        {
          request: fc.constantFrom(
            placeEquity,
            placePrediction,
            cancelOf(predictionOrder),
            replaceOf({ price: '0.5' }),
          ),
          state: fc.constantFrom(...commandStates),
          version: fc.integer({ min: 1, max: 1_000 }),
          presumedAbsent: fc.boolean(),
          attempts: fc.array(fc.record({ state: fc.constantFrom(...attemptStates), reason }), { maxLength: 3 }),
          updatedAtMs: fc.integer({ min: 0, max: 4_102_444_800_000 }),
          orderId: fc.string(),
          callerRef: fc.string(),
          supersedes: fc.uuid(),
          reason,
          seenPendingAt: fc.record({
            revision: fc.integer({ min: 1 }),
            sourceVersion: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }),
          }),
          resolvedAtMs: fc.integer({ min: 0, max: 4_102_444_800_000 }),
        },
        { requiredKeys: ['request', 'state', 'version', 'presumedAbsent', 'attempts', 'updatedAtMs'] },
      )
      .map(({ request, attempts, ...rest }) =>
        commandOf(request, {
          ...rest,
          attempts: attempts.map((each, i) => ({ ...attemptOf(each.state, i + 1), reason: each.reason })),
        }),
      );
    fc.assert(
      fc.property(commands, (command) =>
        expectShape(commandResultRecord, 'commandResultRecord', encodeCommandResult(command)),
      ),
    );
  });

  it.each([
    ['a number where a decimal belongs', { order: { cumQty: 1 } }],
    ['a decimal that is not canonical', { order: { cumQty: '1.0' } }],
    ['an exponent', { order: { cumQty: '1e3' } }],
    ['a version as a number', { sourceVersion: 5 }],
    ['revision 0', { revision: 0 }],
    ['another schema', { schema: 'tidemark.order-update.v2' }],
    ['a status that is not in the enum', { order: { status: 'NEW' } }],
  ])('would be refused with %s, by both', (_what, { order, ...over }: { order?: object; [field: string]: unknown }) => {
    const [text] = updatesOf(fc.sample(accountObservations(), { seed: 1, numRuns: 1 })[0] ?? []);
    const update = JSON.parse(text ?? '') as { order: object };
    const broken = { ...update, ...over, order: { ...update.order, ...order } };
    expect(updateRecord.safeParse(update).success).toBe(true);
    expect(updateRecord.safeParse(broken).success).toBe(false);
    expect(valid['updateRecord']?.(broken)).toBe(false);
  });

  it('may gain fields without breaking a reader of today', () => {
    const [text] = updatesOf(fc.sample(accountObservations(), { seed: 1, numRuns: 1 })[0] ?? []);
    const later = { ...(JSON.parse(text ?? '') as object), later: 1 };
    expect(updateRecord.safeParse(later).success).toBe(true);
    expect(valid['updateRecord']?.(later)).toBe(true);
  });
});
