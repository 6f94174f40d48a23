export const longestWaitSeconds = 30;

/**
 * `Prefer: wait=N` (RFC 7240): how long the caller would have us hold the answer, in whole seconds, at most 30. What can't be read is no preference, as the RFC
 * says: preferences never make a request fail.
 */
export function preferredWaitSeconds(header: string | string[] | undefined): number | undefined {
  if (header === undefined) return undefined;
  const text = Array.isArray(header) ? header.join(',') : header;
  for (const preference of text.split(',')) {
    const digits = /^\s*wait\s*=\s*"?(\d{1,6})"?\s*(?:;.*)?$/i.exec(preference)?.[1];
    if (digits !== undefined) return Math.min(Number(digits), longestWaitSeconds);
  }
  return undefined;
}
