import { randomUUID } from 'node:crypto';

/** Randomness, passed in: one seed gives one trace. */
export interface Random {
  /** A number in [0, 1). */
  next(): number;
  /** A random (version 4) UUID, lower case. */
  uuid(): string;
}

export const systemRandom: Random = { next: () => Math.random(), uuid: () => randomUUID() };

/**
 * A UUID of version 7 (RFC 9562, 5.7), lower case: the time, milliseconds since the epoch, and then
 * random bits. For ids that are keys of tables: the next one stands beside the last one in each
 * index, where a random one touches a page of its own. Ids of one millisecond are in any order.
 */
export function timeOrderedUuid(random: Random, atMs: number): string {
  const time = Math.min(Math.max(0, Math.trunc(atMs)), 2 ** 48 - 1)
    .toString(16)
    .padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.uuid().slice(15)}`;
}
