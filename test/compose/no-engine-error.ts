import { writeFileSync } from 'node:fs';

/** No Docker engine answers here and none can be started, or it can't run these containers: what is tested is not at fault. The message says what to do. */
export class NoEngineError extends Error {}

/** Where a whole `npm test`, which goes on without an engine and says so in the end, asks to be told why there is none. */
export const noEngineFile = 'TIDEMARK_NO_ENGINE_FILE';

export function tellNoEngine(error: unknown): void {
  const file = process.env[noEngineFile];
  if (error instanceof NoEngineError && file !== undefined) writeFileSync(file, error.message);
}
