/**
 * A word of the platform (a side, a type, a time in force) as records of orders write it:
 * in lower case on both streams, although the platform writes account orders in capitals
 * and prediction orders in small letters. No word is lost by it: the platform has no two
 * that differ in case alone (decision 033).
 */
export function orderWord(platformWord: string): string {
  return platformWord.toLowerCase();
}
