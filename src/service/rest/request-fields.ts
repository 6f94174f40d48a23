import { z } from 'zod';
import { platformIdText } from '../../contract/body-fields.ts';
import { flagText } from '../../contract/filter-shapes.ts';
import { stream } from '../../contract/words.ts';
import { streamPattern } from '../../domain/order.ts';
import { platformId } from '../../domain/platform-id.ts';
import { longestCursor } from './cursor.ts';
import type { ProblemCode } from './problem-codes.ts';

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Grammars for the ids in paths. A text outside them can name nothing: `notFound` of its kind. */
export const idKinds = {
  stream: streamPattern,
  /** Ids the platform may use (its order decoder refuses others). */
  orderId: platformId,
  accountId: platformId,
  commandId: uuid,
  approvalId: uuid,
  jobId: uuid,
  /** A process's name, as in `Tidemark-Instance`. */
  instance: /^[!-.0-~]{1,128}$/,
  shard: /^(?:0|[1-9]\d{0,4})$/,
  /** A dead letter's number. */
  rowId: /^[1-9]\d{0,17}$/,
} as const;
export type IdKind = keyof typeof idKinds;

export const notFound: Readonly<Record<IdKind, ProblemCode>> = {
  stream: 'ORDER_NOT_FOUND',
  orderId: 'ORDER_NOT_FOUND',
  accountId: 'ACCOUNT_NOT_FOUND',
  commandId: 'COMMAND_NOT_FOUND',
  approvalId: 'APPROVAL_NOT_FOUND',
  jobId: 'JOB_NOT_FOUND',
  instance: 'INSTANCE_NOT_FOUND',
  shard: 'SHARD_NOT_FOUND',
  rowId: 'ROW_NOT_FOUND',
};

/** The ids in a route's path. */
export function idsIn(path: string): readonly IdKind[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as IdKind);
}

/** The same grammar for JSON Schema. */
export function idPattern(kind: IdKind): string {
  return idKinds[kind].source;
}

// Parameters are text: each field says which text it takes, and gives the route a value.

export const pageDefault = 50;
export const pageMost = 500;

export const optionalFlag = flagText.exactOptional();

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

/** An int64 as text: a position in the log, a revision. */
export const positionField = z.string().regex(/^(?:0|[1-9]\d{0,17})$/, 'must be a whole number of at most 18 digits');
