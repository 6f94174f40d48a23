/**
 * Text with U+007F to U+009F as JSON escapes. JSON leaves them as they are, and some terminals obey
 * them like ASCII's escape sequences. Inside JSON they can only be a part of a string, so the value
 * stays the same.
 */
export function escapeControls(text: string): string {
  // Most texts have none, and replacing looks at each character.
  return late.test(text) ? text.replaceAll(lateControls, (each) => `\\u00${each.charCodeAt(0).toString(16)}`) : text;
}

const late = /[\u007f-\u009f]/;
const lateControls = /[\u007f-\u009f]/g;

/**
 * A JSON line with strings that can be printed raw: each control character in them, but a tab or
 * the line's end, shows as its escape.
 */
export function escapeTwice(line: string): string {
  const ofAscii = line.replaceAll(/\\(u00[01][0-9a-f]|.)/g, (all, escaped: string) =>
    /^(?:u00|[bfr])/.test(escaped) ? `\\${all}` : all,
  );
  return ofAscii.replaceAll(lateControls, (each) => `\\\\u00${each.charCodeAt(0).toString(16)}`);
}
