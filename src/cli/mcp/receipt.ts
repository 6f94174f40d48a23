import { z } from 'zod';
import { type CommandAnswer, type CommandHistory, commandPage } from '../../contract/rest-answers.ts';
import { formatInstant } from '../../domain/instant.ts';
import { present } from '../../domain/present.ts';
import type { RestClient } from '../rest/rest-client.ts';
import { query } from '../rest/rest-flags.ts';
import { keyOf, type Preview } from './preview-book.ts';
import {
  commandLine,
  evidencePage,
  evidenceShape,
  readCommandHistory,
  shortCommand,
  shortCommandShape,
} from './read-commands.ts';
import { readRest } from './tool.ts';
import type { ToolAnswer } from './tool-answer.ts';

/**
 * The fate of a commit. `unknown` is an answer, not a failure: an assistant taking it for one would
 * send the order again.
 */
export const receiptShape = z.object({
  result: z
    .enum(['unknown', 'accepted', 'applied', 'rejected', 'refused', 'not_sent', 'moot', 'conflict', 'not_committed'])
    .describe(
      'unknown: the service is finding out, or a person has to decide (presumedAbsent). accepted: the platform has it, and the venue has not decided. applied: it took effect. rejected: the venue refused it. refused: the platform refused it. not_sent: it was never sent. moot: the order ended otherwise. conflict: a person has to resolve it. not_committed: the preview waits for its commit',
    ),
  final: z.boolean().describe('The result will not change by itself'),
  underWay: z.string().optional().describe('What is being done about a result that is not final'),
  askAgain: z
    .object({ tool: z.literal('receipt'), id: z.string(), afterSeconds: z.int() })
    .optional()
    .describe('When and how to ask again. Do not make a new preview of the same order meanwhile'),
  previewId: z.string().optional(),
  idempotencyKey: z.string().optional(),
  expiresAt: z.string().optional(),
  command: shortCommandShape.optional(),
  ...z.object(evidenceShape).partial().shape,
});
type Receipt = z.infer<typeof receiptShape>;

const neverAgain =
  'Nothing is sent a second time. Do not make a new preview of the same order: it could then be there twice.';

/** For a command in the journal. */
export function commandReceipt(command: CommandAnswer, nowMs: number, previewId?: string): ToolAnswer {
  const { result, commandId, presumedAbsent, nextProbe } = command;
  const notFinal: Readonly<Record<string, string>> = {
    unknown: searching(presumedAbsent),
    accepted: deciding,
    conflict: resolving,
  };
  const underWay = notFinal[result];
  const data: Receipt = present({
    result,
    final: underWay === undefined,
    underWay,
    askAgain:
      underWay === undefined
        ? undefined
        : { tool: 'receipt', id: commandId, afterSeconds: secondsUntil(nextProbe?.at, nowMs) },
    previewId,
    idempotencyKey: command.idempotencyKey,
    command: shortCommand(command),
    ...evidencePage(command),
  });
  return { lines: [commandLine(command), ...again(data)], data };
}

const deciding =
  'The platform has the order, and its venue has not decided yet. The stream tells the service when it has.';
const resolving = 'The facts contradict each other: a person has to resolve the command (tidemark command resolve).';

function searching(presumedAbsent: boolean): string {
  return presumedAbsent
    ? `Many complete reads did not show it: a person has to decide (tidemark command resolve). ${neverAgain}`
    : `The service looks for the order in the stream and asks the platform. ${neverAgain}`;
}

/** The platform is asked at first each second, then less and less often. */
function secondsUntil(at: string | undefined, nowMs: number): number {
  if (at === undefined) return 5;
  return Math.min(60, Math.max(2, Math.ceil((Date.parse(at) - nowMs) / 1000) + 1));
}

/**
 * For a commit without an answer, while the journal does not have its command, or can't be asked.
 */
export function unansweredReceipt(
  previewId: string,
  { expiresAtMs, isOpen }: { readonly expiresAtMs: number; readonly isOpen: boolean },
): ToolAnswer {
  const next = isOpen
    ? `Until ${formatInstant(expiresAtMs)} you may call commit again with this previewId: it has the same key, so nothing is sent twice.`
    : 'Its time is over, so nothing more is sent for it. If the journal still has no command after a minute, the request most likely never arrived: a person has to decide.';
  const underWay = `The service gave no answer, so it is not known whether the request arrived. ${next} Do not make a new preview of the same order meanwhile.`;
  const data: Receipt = {
    result: 'unknown',
    final: false,
    underWay,
    askAgain: { tool: 'receipt', id: previewId, afterSeconds: 5 },
    previewId,
    idempotencyKey: keyOf(previewId),
  };
  return { lines: [`unknown  preview ${previewId}  key ${keyOf(previewId)}`, ...again(data)], data };
}

/** For a preview that was not committed. */
export function waitingReceipt({ id, expiresAtMs }: Preview): ToolAnswer {
  const expiresAt = formatInstant(expiresAtMs);
  const data: Receipt = { result: 'not_committed', final: false, previewId: id, idempotencyKey: keyOf(id), expiresAt };
  return { lines: [`not_committed  preview ${id}: nothing was sent. It ends at ${expiresAt}.`], data };
}

function again({ underWay, askAgain }: Receipt): string[] {
  if (underWay === undefined || askAgain === undefined) return [];
  return [underWay, `Ask again in ${askAgain.afterSeconds} s: receipt with id ${askAgain.id}.`];
}

/**
 * The command for a preview by this principal, found by its key: also one sent by an earlier
 * process.
 */
export async function findByPreview(
  client: RestClient,
  previewId: string,
  principal: string,
): Promise<CommandHistory | undefined> {
  const path = `/v1/commands${query({ idempotencyKey: keyOf(previewId), limit: '10' })}`;
  const { items } = await readRest(client, path, 'commands', commandPage);
  // Keys belong to principals: another one may have the same.
  const own = items.find((command) => command.principal === principal);
  return own === undefined ? undefined : readCommandHistory(client, own.commandId);
}
