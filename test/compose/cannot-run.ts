import { writeFileSync } from 'node:fs';

/**
 * Where a whole `npm run test:deep`, which goes on without this test and
 * says so in the end, asks to be told why.
 */
export const cannotRunFile = 'TIDEMARK_CANNOT_RUN_FILE';

/**
 * What the test needs of a machine (an engine, Compose, images) is not to be had here: nothing that
 * is tested has been tried yet. The message says what to do.
 */
export function tellCannotRun(error: Error): void {
  const file = process.env[cannotRunFile];
  if (file !== undefined) writeFileSync(file, error.message);
}
