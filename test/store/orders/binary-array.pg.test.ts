import fc from 'fast-check';
import { Client } from 'pg';
import { describe, expect, inject, it } from 'vitest';
import { bigintArray, textArray } from '../../../src/store/orders/binary-array.ts';

async function echo(type: string, array: Buffer, client: Client): Promise<unknown> {
  const { rows } = await client.query(`select $1::${type}[] as back`, [array]);
  return rows[0].back;
}

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });

describe('an array in the binary format', () => {
  it('arrives as it was sent: texts', async () => {
    const client = new Client({ connectionString: inject('postgresUrl') });
    await client.connect();
    try {
      const odd = fc.string({ unit: 'binary', maxLength: 50 }).map((value) => value.replaceAll('\0', ''));
      const text = fc.oneof(
        { weight: 9, arbitrary: fc.string({ unit: 'grapheme-ascii' }) },
        { weight: 1, arbitrary: odd },
      );
      await fc.assert(
        fc.asyncProperty(fc.array(fc.option(text)), async (values) => {
          expect(await echo('text', textArray(values), client)).toEqual(values);
        }),
        { numRuns: 300 },
      );
    } finally {
      await client.end();
    }
  });

  it('arrives as it was sent: int64 and JSON', async () => {
    const client = new Client({ connectionString: inject('postgresUrl') });
    await client.connect();
    try {
      await fc.assert(
        fc.asyncProperty(fc.array(fc.option(fc.oneof(int64, fc.maxSafeInteger()))), async (values) => {
          expect(await echo('bigint', bigintArray(values), client)).toEqual(
            values.map((value) => value?.toString() ?? null),
          );
        }),
        { numRuns: 100 },
      );
      await fc.assert(
        fc.asyncProperty(fc.array(fc.json()), async (values) => {
          const { rows } = await client.query('select array(select unnest($1::json[])::text) as back', [
            textArray(values, 'json'),
          ]);
          expect(rows[0].back).toEqual(values);
        }),
        { numRuns: 100 },
      );
    } finally {
      await client.end();
    }
  });

  it('refuses what is no int64', () => {
    for (const value of ['9223372036854775808', 1.5, Number.NaN, '1e3', 'x', 2n ** 64n]) {
      expect(() => bigintArray([value])).toThrow();
    }
  });
});
