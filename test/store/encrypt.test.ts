import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Secret } from '../../src/runtime/secret.ts';
import { seal, unseal } from '../../src/store/token-store.ts';

const key = new Secret(randomBytes(32).toString('base64'));

describe('a sealed text', () => {
  it('is the same again, whatever is in it', () => {
    for (const text of ['', 'token', '日本 \0 "quoted"', 'x'.repeat(100_000)]) {
      expect(unseal(key, 'here', seal(key, 'here', text))).toBe(text);
    }
  });

  it('never looks the same twice', () => {
    expect(seal(key, 'here', 'token').equals(seal(key, 'here', 'token'))).toBe(false);
  });

  it('is refused when a single bit of it was changed, or when it was cut', () => {
    const sealed = seal(key, 'here', 'token');
    for (let i = 0; i < sealed.length; i += 1) {
      const changed = Buffer.from(sealed);
      changed[i] = (changed[i] ?? 0) ^ 1;
      expect(() => unseal(key, 'here', changed)).toThrow(expect.objectContaining({ code: 'UNREADABLE' }));
      expect(() => unseal(key, 'here', sealed.subarray(0, i))).toThrow(expect.objectContaining({ code: 'UNREADABLE' }));
    }
  });

  it('belongs to its place and its key', () => {
    const sealed = seal(key, 'here', 'token');
    expect(() => unseal(key, 'there', sealed)).toThrow(expect.objectContaining({ code: 'UNREADABLE' }));
    const other = new Secret(randomBytes(32).toString('base64'));
    expect(() => unseal(other, 'here', sealed)).toThrow(expect.objectContaining({ code: 'UNREADABLE' }));
  });

  it('needs a key of 32 bytes, which no error shows', () => {
    const short = new Secret('c2hvcnQga2V5');
    expect(() => seal(short, 'here', 'token')).toThrow(expect.objectContaining({ code: 'BAD_KEY' }));
    expect(() => seal(short, 'here', 'token')).not.toThrow(/c2hvcnQ|short key/);
  });
});
