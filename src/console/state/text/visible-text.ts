/** A piece of a text: as it is, or the code of an invisible character. */
interface TextPiece {
  readonly text: string;
  readonly unseen: boolean;
}

/**
 * Control characters (other than tab and line feed), and those without a width or that change the
 * direction of the text around them.
 */
const unseen = /(?![\t\n])[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/**
 * A text from outside in which nothing hides: invisible characters are pieces of their own, as
 * `\u{202e}`.
 */
export function visibleText(text: string): TextPiece[] {
  const pieces: TextPiece[] = [];
  let end = 0;
  for (const { 0: found, index } of text.matchAll(unseen)) {
    if (index > end) pieces.push({ text: text.slice(end, index), unseen: false });
    pieces.push({ text: `\\u{${found.codePointAt(0)?.toString(16) ?? ''}}`, unseen: true });
    end = index + found.length;
  }
  if (end < text.length) pieces.push({ text: text.slice(end), unseen: false });
  return pieces;
}
