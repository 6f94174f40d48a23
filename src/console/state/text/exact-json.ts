/**
 * The parts of JSON that the compiler's library does not know yet (ECMAScript, "JSON.parse source
 * text access").
 */
interface ExactJson {
  parse(text: string, revive: (key: string, value: unknown, context: { readonly source?: string }) => unknown): unknown;
  rawJSON(text: string): unknown;
}

/**
 * Parses a record for display. A number that a JavaScript number would change (an int64 among the
 * platform's own fields) keeps its digits, and `JSON.stringify` writes them again.
 */
export function parseExact(text: string): unknown {
  const json = JSON as unknown as ExactJson;
  return json.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && String(value) !== source ? json.rawJSON(source) : value,
  );
}
