import { pino } from 'pino';
import type { Logger } from '../../../src/observability/logger.ts';

/** A log for tests: warnings and worse on standard error, or everything with LOG_LEVEL=debug. */
export const testLog: Logger = pino(
  { level: process.env['LOG_LEVEL'] ?? 'warn' },
  pino.destination({ dest: 2, sync: true }),
);
