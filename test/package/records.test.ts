import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { CommandResult, NormalisedOrder, OrderUpdate, Watermark } from 'tidemark/records';
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from 'vitest';
import type { z } from 'zod';
import type { commandResultRecord } from '../../src/contract/command-result.ts';
import type { normalisedOrder } from '../../src/contract/normalised-order.ts';
import type { updateRecord, watermarkRecord } from '../../src/contract/update-record.ts';
import type { Order } from '../../src/domain/order.ts';
import { unpackPackage } from './unpack-package.ts';

/**
 * What a shape lets through, as JSON gives it: zod types an absent field as one that may be
 * undefined, which JSON knows nothing of.
 */
type Parsed<T> = T extends readonly (infer E)[]
  ? readonly Parsed<E>[]
  : T extends object
    ? { readonly [K in keyof T]: Parsed<Exclude<T[K], undefined>> }
    : T;

describe('the types of the records', () => {
  it('are exactly what the shapes say, and so is the order of the domain, by the type check', () => {
    expectTypeOf<Parsed<z.output<typeof normalisedOrder>>>().toEqualTypeOf<Parsed<NormalisedOrder>>();
    expectTypeOf<Parsed<z.output<typeof updateRecord>>>().toEqualTypeOf<Parsed<OrderUpdate>>();
    expectTypeOf<Parsed<z.output<typeof watermarkRecord>>>().toEqualTypeOf<Parsed<Watermark>>();
    expectTypeOf<Parsed<z.output<typeof commandResultRecord>>>().toEqualTypeOf<Parsed<CommandResult>>();
    expectTypeOf<Parsed<z.output<typeof normalisedOrder>>>().toEqualTypeOf<Parsed<Order>>();
  });
});

describe('the packed package', () => {
  let stranger: string;

  beforeAll(() => {
    stranger = unpackPackage().folder;
    const compilerOptions = {
      noEmit: true,
      strict: true,
      exactOptionalPropertyTypes: true,
      module: 'nodenext',
      // Without the browser's, whose check takes most of the time.
      lib: ['es2023'],
      types: [],
    };
    writeFileSync(join(stranger, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['stranger.ts'] }));
  });
  afterAll(() => rmSync(stranger, { recursive: true, force: true }));

  /** As strict as TypeScript gets, with every declaration checked and nothing of ours around. */
  function compile(code: string) {
    writeFileSync(join(stranger, 'stranger.ts'), code);
    const run = [resolve('node_modules/typescript/bin/tsc'), '--pretty', 'false'];
    const { status, stdout } = spawnSync(process.execPath, run, { cwd: stranger, encoding: 'utf8', timeout: 60_000 });
    return { status, stdout };
  }

  it("lets a stranger's program with its record types compile", () => {
    const program = `
      import type { CommandResult, Watermark, OrderUpdate } from 'tidemark/records';
      export function newest(update: OrderUpdate): bigint {
        if (update.order.status === 'filled' && update.fill?.inferred === false) return BigInt(update.sourceVersion ?? '0');
        return 0n;
      }
      export const isOver = ({ result }: CommandResult): boolean => result === 'applied' || result === 'rejected';
      export const completeUpTo = ({ event, at }: Watermark): string | undefined => (event === 'heartbeat' ? at : undefined);
    `;
    expect(compile(program)).toEqual({ status: 0, stdout: '' });
  });

  it('does not let one compile that takes a version or a quantity for a number', () => {
    const program = `
      import type { OrderUpdate } from 'tidemark/records';
      export const version = (update: OrderUpdate): number => update.sourceVersion ?? 0;
      export const left = ({ order }: OrderUpdate): number => order.cumQty - (order.leavesQty ?? '0');
    `;
    const { status, stdout } = compile(program);
    expect(status).not.toBe(0);
    expect(stdout.match(/stranger\.ts\(\d+/g)).toEqual(['stranger.ts(3', 'stranger.ts(4', 'stranger.ts(4']);
  });
});
