/** `1 read`, `2 reads`. */
export function plural(count: number, word: string): string {
  return `${count.toLocaleString('en')} ${word}${count === 1 ? '' : 's'}`;
}

/** The words of a table, for people. A word that it lacks is shown as it came, with spaces. */
export function wordsOf(table: Readonly<Record<string, string>>): (word: string) => string {
  return (word) => table[word] ?? word.replaceAll('_', ' ');
}
