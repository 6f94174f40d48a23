import { type Random, systemRandom } from '../../../src/runtime/random.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';

/**
 * Randomness for a test, of a new seed each run, which is printed;
 * TIDEMARK_TEST_SEED=<seed> plays the same again.
 */
export function printedRandom(test: string): Random {
  const given = process.env['TIDEMARK_TEST_SEED'];
  const seed = given === undefined ? Math.floor(systemRandom.next() * 2 ** 32) : Number(given);
  process.stdout.write(`${test}: TIDEMARK_TEST_SEED=${seed}\n`);
  return seededRandom(seed);
}
