import { z } from 'zod';
import { commandResultSchema } from '../domain/encode-command-result.ts';
import { instant, int64 } from './normalised-order.ts';
import { attempt, commandAnswer } from './rest-answers.ts';
import { named, orderStatus } from './words.ts';

const attemptRecord = named(
  'ResultAttempt',
  'One write to the platform, as the topic has it',
  attempt.omit({ epoch: true }).shape,
);

// As REST has them.
const { commandId, kind, stream, accountId, orderId, replaces, callerRef, supersedes } = commandAnswer.shape;
const { result, state, reason, createdAt, resolvedAt } = commandAnswer.shape;

/**
 * One step of a command, as it goes to `tidemark.command-results.v1`. Readers keep each command's
 * highest (generation, version) and drop those at or below it.
 */
export const commandResultRecord = named(
  'CommandResult',
  'One step of a command: keep the highest (generation, version) of each command',
  {
    eventId: z.string().describe('<commandId>:<version>'),
    schema: z.literal(commandResultSchema),
    commandId,
    generation: z
      .int()
      .min(2)
      .optional()
      .describe('Before the version; absent: 1. It rises when the database lost commits'),
    version: z.int().positive().describe('Per command 1, 2, 3 … without a hole'),
    kind,
    stream,
    accountId,
    orderId,
    orderStatus: orderStatus.optional().describe('Of that order, when this step was taken'),
    replaces,
    callerRef,
    supersedes,
    result,
    state,
    presumedAbsent: z.literal(true).optional().describe('Enough complete reads missed it; absent: no'),
    seenPendingAt: z
      .object({
        revision: z.int().positive(),
        sourceVersion: int64.optional(),
      })
      .optional(),
    reason,
    terms: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('What was asked for; decimals in canonical form, as strings'),
    attempts: z.array(attemptRecord),
    createdAt,
    at: instant.describe('When this step was taken'),
    resolvedAt,
  },
);
