import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { decodeCursor, encodeCursor } from '../../../src/service/rest/cursor.ts';

const anyPosition = z.array(z.string()).min(1);
const decode = (list: string, cursor: string) => decodeCursor(list, cursor, anyPosition);
const position = fc.array(fc.string({ unit: 'grapheme', maxLength: 60 }), { minLength: 1, maxLength: 4 });

describe('a cursor', () => {
  it('comes back as the position that it was made of', () => {
    fc.assert(
      fc.property(fc.string(), position, (list, at) => {
        expect(decode(list, encodeCursor(list, at))).toEqual(at);
      }),
    );
  });

  it('can stand in an address as it is', () => {
    fc.assert(
      fc.property(position, (at) => {
        expect(encodeCursor('orders', at)).toMatch(/^[A-Za-z0-9_-]+$/);
      }),
    );
  });

  it('is nothing for another list', () => {
    fc.assert(
      fc.property(position, (at) => {
        const text = encodeCursor('orders {}', at);
        expect(decode('orders {"a":1}', text)).toBeUndefined();
      }),
    );
  });

  it('is nothing with any one character changed, dropped or added', () => {
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    fc.assert(
      fc.property(position, fc.nat(), fc.constantFrom(...letters), (at, where, letter) => {
        const text = encodeCursor('orders', at);
        const i = where % text.length;
        for (const forged of [
          `${text.slice(0, i)}${letter}${text.slice(i + 1)}`,
          `${text.slice(0, i)}${text.slice(i + 1)}`,
          `${text.slice(0, i)}${letter}${text.slice(i)}`,
        ])
          if (forged !== text) expect(decode('orders', forged)).toBeUndefined();
      }),
    );
  });

  it('is nothing with a position that its list does not have', () => {
    const orders = z.tuple([z.enum(['account', 'prediction']), z.string().regex(/^[!-~]+$/)]);
    const decodeOrders = (at: readonly string[]) => decodeCursor('orders', encodeCursor('orders', at), orders);
    expect(decodeOrders(['account', 'o-1'])).toEqual(['account', 'o-1']);
    for (const at of [[], ['account'], ['equity', 'o-1'], ['account', 'o\0-1'], ['account', 'o-1', '']])
      expect(decodeOrders(at), JSON.stringify(at)).toBeUndefined();
  });

  it('never throws, whatever it is given', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(decode('orders', text)).toBeUndefined();
      }),
    );
  });
});
