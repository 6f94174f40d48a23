/**
 * Text with U+007F to U+009F, and with characters that are not seen, as JSON escapes. JSON leaves
 * them as they are. Some terminals obey the first like ASCII's escape sequences; the second change
 * the direction of the text around them, or hide that two texts differ. Inside JSON they can only
 * be a part of a string, so the value stays the same.
 */
export function escapeControls(text: string): string {
  // Most texts have none, and replacing looks at each character.
  return late.test(text) ? text.replaceAll(lateControls, escapedOnce) : text;
}

/** Not in ASCII: `Cf` has direction marks, marks without a width, and tags above U+FFFF. */
const late = /[\u007f-\u009f\u2028\u2029\p{Cf}]/u;
const lateControls = new RegExp(late, 'gu');

/** `\u202e`; above U+FFFF two of them, as JSON has it. */
function escapedOnce(found: string): string {
  let escaped = '';
  for (let at = 0; at < found.length; at += 1) escaped += `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`;
  return escaped;
}

/**
 * A JSON line with strings that can be printed raw: each such character in them, and each control
 * character but a tab or the line's end, shows as its escape.
 */
export function escapeTwice(line: string): string {
  const ofAscii = line.replaceAll(/\\(u00[01][0-9a-f]|.)/g, (all, escaped: string) =>
    /^(?:u00|[bfr])/.test(escaped) ? `\\${all}` : all,
  );
  return ofAscii.replaceAll(lateControls, (each) => escapedOnce(each).replaceAll('\\', '\\\\'));
}
