/**
 * A number in [0, 1) that belongs to a seed and some whole numbers: the same ones always give the same number, in any order of requests. Data of any day
 * can so be made on request, where a generator would have to be wound forward to it.
 */
export function noise(seed: number, ...parts: readonly number[]): number {
  let hash = seed ^ 0x9e3779b9;
  for (const part of parts) {
    // The finaliser of MurmurHash3: every bit of a part reaches every bit of the result.
    hash = Math.imul(hash ^ part, 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    hash ^= hash >>> 16;
  }
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return ((hash ^ (hash >>> 12)) >>> 0) / 4294967296;
}

/** A text as a whole number for `noise` (FNV-1a, 32 bits). */
export function numberOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash;
}
