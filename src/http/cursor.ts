import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Secret } from '../runtime/secret.ts';

const tagBytes = 12;
/** A cursor of ours is far shorter. */
const longest = 600;

/**
 * Where a list goes on, as callers carry it: opaque, and signed together with the list that it belongs to, so that what comes back is what we gave out. A forged
 * one, or one of another list or of other filters, reads as undefined. It grants nothing: each page asks for the caller's own accounts again.
 */
export class Cursors {
  private readonly key: Secret;

  /** `key`: the same in every instance, so that a page begun at one can go on at another. */
  constructor(key: Secret) {
    this.key = key;
  }

  encode(list: string, position: readonly string[]): string {
    const body = Buffer.from(JSON.stringify(position));
    return Buffer.concat([this.tag(list, body), body]).toString('base64url');
  }

  decode(list: string, cursor: string): readonly string[] | undefined {
    if (cursor.length > longest || !/^[\w-]+$/.test(cursor)) return undefined;
    const bytes = Buffer.from(cursor, 'base64url');
    // One text for one position: base64url leaves bits unused at its end.
    if (bytes.length <= tagBytes || bytes.toString('base64url') !== cursor) return undefined;
    const body = bytes.subarray(tagBytes);
    if (!timingSafeEqual(bytes.subarray(0, tagBytes), this.tag(list, body))) return undefined;
    return JSON.parse(body.toString()) as readonly string[];
  }

  private tag(list: string, body: Buffer): Buffer {
    return createHmac('sha256', this.key.reveal()).update(`${list}\0`).update(body).digest().subarray(0, tagBytes);
  }
}
