/** The value of a JSON text; undefined for any other text, and where `parse` throws. */
export function jsonOrUndefined(text: string, parse: (text: string) => unknown = JSON.parse): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}
