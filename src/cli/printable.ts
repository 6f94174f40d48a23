/** Texts come from elsewhere; a terminal obeys what they contain. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const controlCharacters = /[\u0000-\u001f\u007f-\u009f]/g;

/** The text with every character that a terminal would obey as a question mark. */
export function printable(text: string): string {
  return text.replaceAll(controlCharacters, '?');
}
