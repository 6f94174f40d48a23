/**
 * JSON that Postgres takes apart without an error: int64 as digits, no NUL and no lone surrogate in any text (its visible symbol and U+FFFD stand in). What the
 * platform answered goes into evidence: a text that the database refused would keep a command from ever being settled.
 */
export function storableJson(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) => {
    if (typeof each === 'bigint') return each.toString();
    if (typeof each === 'string') return storableText(each);
    return isObject(each) ? withStorableNames(each) : each;
  });
}

/** The same for a text of its own. */
export function storableText(text: string): string {
  return text.replaceAll('\0', '\u2400').toWellFormed();
}

function withStorableNames(object: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const names = Object.keys(object);
  if (names.every((name) => storableText(name) === name)) return object;
  return Object.fromEntries(names.map((name) => [storableText(name), object[name]]));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
