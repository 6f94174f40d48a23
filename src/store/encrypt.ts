import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Secret } from '../runtime/secret.ts';

const nonceBytes = 12;
const tagBytes = 16;
const version = 1;

/** The key is not 32 bytes of base64, or what is stored was sealed with another key, for another place, or was changed. */
export class SealError extends Error {
  readonly code: 'BAD_KEY' | 'UNREADABLE';
  readonly retryable = false;

  constructor(code: 'BAD_KEY' | 'UNREADABLE', message: string) {
    super(message);
    this.name = 'SealError';
    this.code = code;
  }
}

/**
 * AES-256-GCM: one byte of version, nonce, ciphertext, tag. `place` is authenticated with it, so that a sealed value can't be moved to another row, or an
 * old one put back in its place.
 */
export function seal(key: Secret, place: string, text: string): Buffer {
  // Not the injected randomness: a nonce that a seed could repeat gives the key away.
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', keyBytes(key), nonce).setAAD(Buffer.from(place));
  return Buffer.concat([Buffer.of(version), nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
}

/** The text that was sealed with this key for this place. Throws a `SealError` otherwise. */
export function unseal(key: Secret, place: string, sealed: Buffer): string {
  const bytes = keyBytes(key);
  if (sealed[0] !== version || sealed.length < 1 + nonceBytes + tagBytes) throw unreadable(place);
  const nonce = sealed.subarray(1, 1 + nonceBytes);
  const ciphertext = sealed.subarray(1 + nonceBytes, sealed.length - tagBytes);
  const decipher = createDecipheriv('aes-256-gcm', bytes, nonce, { authTagLength: tagBytes })
    .setAAD(Buffer.from(place))
    .setAuthTag(sealed.subarray(sealed.length - tagBytes));
  try {
    return Buffer.concat([decipher.update(ciphertext), decipher.final()]).toString('utf8');
  } catch {
    throw unreadable(place);
  }
}

function unreadable(place: string): SealError {
  return new SealError('UNREADABLE', `what is stored for ${place} was not sealed with this key, or was changed`);
}

function keyBytes(key: Secret): Buffer {
  const bytes = Buffer.from(key.reveal(), 'base64');
  if (bytes.length !== 32) throw new SealError('BAD_KEY', 'the encryption key must be 32 bytes in base64');
  return bytes;
}
