import pino from 'pino';
import type { Logger } from '../../../src/observability/logger.ts';

export const silentLog: Logger = pino({ level: 'silent' });
