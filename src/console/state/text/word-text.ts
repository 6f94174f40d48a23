/** `1 read`, `2 reads`. */
export function plural(count: number, word: string): string {
  return `${count.toLocaleString('en')} ${word}${count === 1 ? '' : 's'}`;
}

/** Words for people, from a table. An unknown word is shown as it came, with spaces. */
export function wordsOf(table: Readonly<Record<string, string>>): (word: string) => string {
  return (word) => table[word] ?? word.replaceAll('_', ' ');
}

/** Words to choose from, each with its words for people. */
export type Choices<Value extends string = string> = readonly (readonly [value: Value, words: string])[];

/** The given words; missing and empty ones are left out. */
export function joined(words: readonly (string | false | undefined)[], between = ', '): string {
  return words.filter(Boolean).join(between);
}
