const maxInt64 = 2n ** 63n - 1n;
const plain = /^(?:0|[1-9]\d{0,18})$/;

/**
 * A platform version from its digits as they stood in the source (`JSON.parse` merges neighbours above 2^53). Plain digits of 0 to 2^63 − 1, nothing
 * else: no sign, no fraction, no exponent, no leading zero. Specification: "version", int64.
 */
export function parseVersion(sourceDigits: string): bigint | undefined {
  if (!plain.test(sourceDigits)) return undefined;
  const version = BigInt(sourceDigits);
  return version <= maxInt64 ? version : undefined;
}
