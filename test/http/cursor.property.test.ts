import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Cursors } from '../../src/http/send-page.ts';
import { Secret } from '../../src/runtime/secret.ts';

const cursors = new Cursors(new Secret('a key'));
const position = fc.array(fc.string({ unit: 'grapheme', maxLength: 60 }), { minLength: 1, maxLength: 4 });

describe('a cursor', () => {
  it('comes back as the position that it was made of', () => {
    fc.assert(
      fc.property(fc.string(), position, (list, at) => {
        expect(cursors.decode(list, cursors.encode(list, at))).toEqual(at);
      }),
    );
  });

  it('can stand in an address as it is', () => {
    fc.assert(
      fc.property(position, (at) => {
        expect(cursors.encode('orders', at)).toMatch(/^[A-Za-z0-9_-]+$/);
      }),
    );
  });

  it('is nothing for another list, or under another key', () => {
    const other = new Cursors(new Secret('another key'));
    fc.assert(
      fc.property(position, (at) => {
        const text = cursors.encode('orders {}', at);
        expect(cursors.decode('orders {"a":1}', text)).toBeUndefined();
        expect(other.decode('orders {}', text)).toBeUndefined();
      }),
    );
  });

  it('is nothing with any one character changed, dropped or added', () => {
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    fc.assert(
      fc.property(position, fc.nat(), fc.constantFrom(...letters), (at, where, letter) => {
        const text = cursors.encode('orders', at);
        const i = where % text.length;
        for (const forged of [
          `${text.slice(0, i)}${letter}${text.slice(i + 1)}`,
          `${text.slice(0, i)}${text.slice(i + 1)}`,
          `${text.slice(0, i)}${letter}${text.slice(i)}`,
        ])
          if (forged !== text) expect(cursors.decode('orders', forged)).toBeUndefined();
      }),
    );
  });

  it('never throws, whatever it is given', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(cursors.decode('orders', text)).toBeUndefined();
      }),
    );
  });
});
