import type { Logger } from 'pino';

/** Structured logging: one line per state change, not per event. Field names: `stream`, `orderId`, `accountId`, `commandId`, `err`. */
export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'child'>;
