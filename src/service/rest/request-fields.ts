import { z } from 'zod';
import { platformIdText } from '../../contract/body-fields.ts';
import { stream } from '../../contract/words.ts';
import { parseInstant } from '../../domain/instant.ts';
import { platformId } from '../../domain/platform-id.ts';
import { longestCursor } from './cursor.ts';

/** Grammars for the ids in paths. A text outside them can name nothing, so it is "not found". */
export const idKinds = {
  stream: /^(?:account|prediction)$/,
  /** Ids the platform may use (its order decoder refuses others). */
  orderId: platformId,
  accountId: platformId,
  commandId: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  approvalId: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  jobId: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  /** A process's name, as in `Tidemark-Instance`. */
  instance: /^[!-.0-~]{1,128}$/,
  shard: /^(?:0|[1-9]\d{0,4})$/,
  /** A quarantine row's number. */
  rowId: /^[1-9]\d{0,17}$/,
} as const;
export type IdKind = keyof typeof idKinds;

/** The same grammar for JSON Schema. */
export function idPattern(kind: IdKind): string {
  return idKinds[kind].source;
}

// Parameters are text: each field says which text it takes, and gives the route a value.

export const pageDefault = 50;
export const pageMost = 500;

const flag = z
  .enum(['true', 'false'], 'must be true or false')
  .transform((text) => text === 'true')
  .meta({ type: 'boolean', enum: undefined });

export const optionalFlag = flag.exactOptional();

export const limitField = limitOr(pageDefault);

/** `usual`: when left out. */
export function limitOr(usual: number) {
  return z
    .string()
    .regex(/^[1-9]\d{0,2}$/, `must be a whole number from 1 to ${pageMost}`)
    .transform(Number)
    .refine((limit) => limit <= pageMost, `must be a whole number from 1 to ${pageMost}`)
    .exactOptional()
    .describe(`How many at most; ${usual} when left out`)
    .meta({ type: 'integer', minimum: 1, maximum: pageMost, default: usual, pattern: undefined });
}

export const cursorField = z.string().min(1).max(longestCursor).exactOptional().describe('`next` of the page before');

export const accountField = platformIdText;
export const streamField = stream;

/** An id or a reference to search for. */
export const searchField = z
  .string()
  .regex(/^[^\p{Cc}]{1,128}$/u, 'must be 1 to 128 characters without line breaks')
  .exactOptional();

/** The last microsecond with a four-digit year, in Postgres and ISO 8601. */
const lastMicros = 253_402_300_799_999_999n;
const notAnInstant = 'must be a time in ISO 8601 with its zone, from 1970 on';

/** A time. The route gets it in UTC with microseconds, as the database keeps it. */
export const instantField = z
  .string()
  .max(40, notAnInstant)
  .transform((text, check) => {
    const micros = (parseInstant(text) ?? -1n) / 1_000n;
    if (parseInstant(text) !== undefined && micros >= 0n && micros <= lastMicros) return microsText(micros);
    check.addIssue(notAnInstant);
    return z.NEVER;
  })
  .meta({ type: 'string', format: 'date-time' });

function microsText(micros: bigint): string {
  const millis = new Date(Number(micros / 1_000n)).toISOString().slice(0, -1);
  return `${millis}${String(micros % 1_000n).padStart(3, '0')}Z`;
}

/** An int64 as text: a position in the log, a revision. */
export const positionField = z.string().regex(/^(?:0|[1-9]\d{0,17})$/, 'must be a whole number of at most 18 digits');
