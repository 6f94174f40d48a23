/**
 * `1 order`, `2 orders`: a number with its word. `many` is for words with another plural than the
 * word with an s.
 */
export function plural(count: number, word: string, many = `${word}s`): string {
  return `${count} ${count === 1 ? word : many}`;
}
