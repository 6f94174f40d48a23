const plain = /^[\w.:@/ +-]*$/;

/** A JSON string. Nearly all of ours need no escaping, and the test for that costs half of `JSON.stringify`. */
export function jsonText(value: string): string {
  return plain.test(value) ? `"${value}"` : JSON.stringify(value);
}
