import pino from 'pino';
import type { Log } from '../../../src/observability/log.ts';

export const silentLog: Log = pino({ level: 'silent' });
