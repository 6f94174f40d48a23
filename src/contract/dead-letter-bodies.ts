import { z } from 'zod';
import { present } from '../domain/present.ts';
import { parseBody, plainTextField, platformIdText } from './body-fields.ts';
import { reasonText } from './command-bodies.ts';
import { instant } from './normalised-order.ts';
import { named, namedBody, next, stream } from './words.ts';

const result = z.enum(['done', 'failed', 'withdrawn']);

/** Rows that a job may name one by one. */
const mostChosen = 200;

/** `POST /v1/dead-letters/jobs`. */
export const deadLetterJobBody = namedBody(
  'DeadLetterJobRequest',
  'What is to be done with the dead letters that match',
  {
    action: z.enum(['retry', 'discard']),
    filter: z
      .strictObject({
        stream: stream.optional(),
        accountId: platformIdText.optional().describe('Left out: every account of the token'),
        reason: plainTextField(1, 100).optional().describe('Why a row is a dead letter: bad_decimal, poison …'),
        rowIds: z
          .array(z.string().regex(/^[1-9]\d{0,17}$/, 'must be the id of a row'))
          .min(1)
          .max(mostChosen)
          .optional()
          .describe('Only these rows'),
      })
      .describe('Which rows, of those that have not been dealt with; a field that is left out is any'),
    reason: reasonText,
    dryRun: z.boolean().optional().describe('Only count the rows: nothing is written'),
  },
);

export function parseDeadLetterJob(body: unknown) {
  return parseBody(deadLetterJobBody, body, ({ filter, dryRun = false, ...others }) => ({
    ...others,
    filter: present(filter),
    dryRun,
  }));
}

// Answers. Objects are open: a field added by a later minor version must not break a reader of this
// one.

const entry = named('DeadLetterRow', 'A dead letter, without its text', {
  id: z.string().describe('int64 as text'),
  stream,
  accountId: z.string().optional().describe('Left out: the message names none that could be read'),
  orderId: z.string().optional(),
  reason: z.string().describe('Short and stable'),
  detail: z.string(),
  observedAt: instant,
  recordedAt: instant,
  dealtAt: instant.optional().describe('Left out: it has not been dealt with'),
});

export const deadLettersPage = named('DeadLettersPage', 'Dead letters, without their text', {
  items: z.array(entry),
  next,
});
export type DeadLetterPageDocument = z.infer<typeof deadLettersPage>;

export const deadLetterAnswer = entry
  .extend({
    raw: z.string().describe('The message as it came, as text: never markup'),
    retry: z
      .object({
        requestedAt: instant,
        answeredAt: instant.optional(),
        result: result.optional().describe('Left out: it is open'),
        detail: z.string().optional(),
      })
      .optional()
      .describe('The newest request to read its order again'),
  })
  .meta({ id: 'DeadLetterRowDetail', description: 'A dead letter, with the message as it came' });

const job = named('DeadLetterJob', 'A job over dead letters', {
  jobId: z.string(),
  action: z.enum(['retry', 'discard']),
  filter: z.looseObject({
    stream: stream.optional(),
    accountId: z.string().optional(),
    reason: z.string().optional(),
    rowIds: z.array(z.string()).optional(),
  }),
  reason: z.string(),
  by: z.string().describe('The principal that asked for it'),
  state: z.enum(['running', 'ended', 'cancelled']),
  askedAt: instant,
  endedAt: instant.optional(),
  cancelledBy: z.string().optional(),
  total: z.int().describe('Rows that it has, decided when it was asked for'),
  done: z.int(),
  failed: z.int(),
  withdrawn: z.int().describe('Rows that were open when it was cancelled, or a day after it was asked for'),
  failures: z
    .array(z.object({ detail: z.string(), rows: z.int() }))
    .describe('Why rows failed, the most frequent first; at most ten'),
});
export type DeadLetterRowDocument = z.infer<typeof deadLetterAnswer>;

export const deadLetterJobAnswer = named('DeadLetterJobAnswer', 'A job over dead letters, with its progress', { job });

export const deadLetterJobList = named('DeadLetterJobList', 'The newest jobs over dead letters', {
  items: z.array(job),
});
export type DeadLetterJobDocument = z.infer<typeof job>;

export const deadLetterJobSize = named('DeadLetterJobSize', 'Rows that a job would have', {
  total: z.int().describe('Rows that the job would have'),
  nameless: z.int().describe('Rows that name no order to read again: a retry would fail for them. 0 for a discard'),
});
export type DeadLetterJobSizeDocument = z.infer<typeof deadLetterJobSize>;
