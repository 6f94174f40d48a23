/** A value as it may stand in a message: short, whatever came, and never walked into (a hostile depth would overflow the stack). */
export function describeValue(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  const text = typeof value === 'string' ? JSON.stringify(value) : typeof value === 'object' ? 'an object' : String(value);
  return text.length > 80 ? `${text.slice(0, 80).toWellFormed()}…` : text;
}
