import { z } from 'zod';
import { present } from '../../contract/body-fields.ts';
import { commandHistory } from '../../contract/rest-answers.ts';
import { commandStates } from '../../domain/command.ts';
import { orderStatuses, streams } from '../../domain/order.ts';
import { termsText } from '../../domain/terms-text.ts';
import type { RestCommand } from '../command/unresolved-text.ts';
import { clip } from '../io/format-text.ts';
import { type RestClient, understood } from '../rest/rest-client.ts';
import { segment } from '../rest/rest-flags.ts';
import { readRest } from './tool.ts';

export type History = z.infer<typeof commandHistory>;

const mostText = 300;

const reason = z.object({ code: z.string(), message: z.string(), status: z.int().optional() });

/** The fields a list needs. */
export const shortCommandShape = z.object({
  commandId: z.string(),
  kind: z.enum(['place', 'replace', 'cancel']),
  stream: z.enum(streams),
  accountId: z.string(),
  terms: z.record(z.string(), z.unknown()).optional(),
  orderId: z.string().optional(),
  orderStatus: z.enum(orderStatuses).optional(),
  replaces: z.string().optional().describe('The order before, of a replace that has made a new one'),
  result: z.string().describe('unknown, accepted, refused, not_sent, applied, rejected, moot or conflict'),
  state: z.enum(commandStates).describe('As the result, but open while the platform has not answered'),
  unresolved: z.boolean().describe('Its result is not known, or a person has to resolve it'),
  presumedAbsent: z.boolean().describe('Many complete reads did not show it. This is a label, not a result'),
  reason: reason.optional(),
  callerRef: z.string().optional(),
  principal: z.string(),
  idempotencyKey: z.string(),
  createdAt: z.string(),
  updatedAt: z.string(),
  resolvedAt: z.string().optional(),
});

export function shortCommand(command: RestCommand): z.infer<typeof shortCommandShape> {
  const { reason: why, ...fields } = shortCommandShape.parse(command);
  return present({
    ...fields,
    reason: why === undefined ? undefined : { ...why, message: clip(why.message, mostText) },
  });
}

/** "applied  place buy 10 AAPL limit at 187.5  SIM-1001  order o-1 (new)  command c-1". */
export function commandLine(command: RestCommand): string {
  const { result, kind, accountId, orderId, orderStatus, replaces, commandId, reason: why } = command;
  const terms = kind === 'cancel' ? '' : ` ${termsText(kind, command.terms)}`;
  const order =
    orderId === undefined ? '' : `  order ${orderId}${orderStatus === undefined ? '' : ` (${orderStatus})`}`;
  const before = replaces === undefined ? '' : `, which replaces ${replaces}`;
  const because = why === undefined ? '' : `  ${clip(why.message, mostText)} (${why.code})`;
  return `${result}  ${kind}${terms}  ${accountId}${order}${before}  command ${commandId}${because}`;
}

const evidenceRow = z.object({
  number: z.int(),
  kind: z.string(),
  code: z.string(),
  at: z.string(),
  detail: z.record(z.string(), z.unknown()),
});

/**
 * A page of the evidence: each complete read without the order is a fact, so a command may have
 * hundreds.
 */
export const evidenceShape = {
  evidence: z.array(evidenceRow).describe('The newest facts, oldest first'),
  earlierEvidence: z
    .int()
    .optional()
    .describe('evidenceBefore of the next call; left out where there is no earlier fact'),
  attempts: z.array(z.object({ attemptId: z.string(), number: z.int(), state: z.string(), reason: reason.optional() })),
};

const mostEvidence = 20;
const mostAttempts = 20;

export function evidencePage(
  { evidence = [], attempts }: RestCommand,
  before = Number.POSITIVE_INFINITY,
): z.infer<z.ZodObject<typeof evidenceShape>> {
  const earlier = evidence.filter(({ number }) => number < before);
  const shown = earlier.slice(-mostEvidence);
  const [first] = shown;
  return present({
    evidence: shown.map(({ number, kind, code, at, detail }) => ({
      number,
      kind,
      code,
      at,
      detail: shortDetail(detail),
    })),
    earlierEvidence: first !== undefined && earlier.length > shown.length ? first.number : undefined,
    attempts: attempts
      .slice(-mostAttempts)
      .map(({ attemptId, number, state, reason: why }) => present({ attemptId, number, state, reason: why })),
  });
}

/** A detail may have what the platform answered. */
function shortDetail(detail: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(detail).map(([name, value]) => {
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      return [name, text.length <= mostText ? value : clip(text, mostText)];
    }),
  );
}

/** A command with everything known about it. */
export async function readCommandHistory(client: RestClient, commandId: string): Promise<History> {
  return understood('a command', commandHistory, await readRest(client, `/v1/commands/${segment(commandId)}`));
}
