import { z } from 'zod';
import { type CommandAnswer, commandAnswer } from '../../contract/rest-answers.ts';
import { ProgramError } from '../../runtime/program-error.ts';
import { idKinds } from '../../service/rest/request-fields.ts';
import { isProblem, type RestAnswer, type RestClient } from '../rest/rest-client.ts';
import { keyOf, type Preview } from './preview-book.ts';
import { readCaller } from './previews.ts';
import { readCommandHistory } from './read-commands.ts';
import { commandReceipt, findByPreview, receiptShape, unansweredReceipt, waitingReceipt } from './receipt.ts';
import { problemOf, type Session, tool } from './tool.ts';
import { type ToolAnswer, ToolError } from './tool-answer.ts';

const anyId = z.string().regex(idKinds.commandId, 'must be an id as preview or commit gave it');

export const commit = tool({
  name: 'commit',
  title: 'Send what a preview showed',
  description:
    'Sends the request of a preview, once. To call it again with the same previewId is safe: it never sends a second time, and answers with the receipt. A result of unknown is not an error: ask receipt again, and make no new preview of the same order.',
  scopes: ['orders:write'],
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: true },
  input: z.strictObject({
    previewId: anyId,
    waitSeconds: z.int().min(0).max(30).default(5).describe('How long to wait for the final result'),
  }),
  output: receiptShape,
  run: (session, { previewId, waitSeconds }) => {
    const preview = session.previews.find(previewId);
    if (preview === undefined) return commitOfUnknown(session, previewId);
    // One request at a time: a call that comes meanwhile gets the same answer.
    preview.flight ??= commitPreview(session, preview, waitSeconds).finally(() => {
      delete preview.flight;
    });
    return preview.flight;
  },
});

export const receipt = tool({
  name: 'receipt',
  title: 'Show what became of a commit',
  description:
    'State, result and evidence of a command, by its previewId or its commandId. Sends nothing. Works for previews of an earlier process too, since a command is found by the key of its preview.',
  scopes: ['orders:read', 'ops:read'],
  input: z.strictObject({ id: anyId.describe('A previewId or a commandId') }),
  output: receiptShape,
  run: async (session, { id }) => {
    const preview = session.previews.find(id);
    const client = session.client();
    if (preview !== undefined && preview.command === undefined) {
      if (!preview.mayHaveArrived && preview.flight === undefined) return waitingReceipt(preview);
      return lookUp(session, client, preview);
    }
    const known = preview?.command?.commandId;
    if (known !== undefined) return commandReceipt(await readCommandHistory(client, known), session.clock.nowMs(), id);
    const found = await findByPreview(client, id, (await readCaller(client)).principal);
    if (found !== undefined) return commandReceipt(found, session.clock.nowMs(), id);
    return commandReceipt(await readCommandHistory(client, id).catch(orUnknownId(id)), session.clock.nowMs());
  },
});

function orUnknownId(id: string) {
  return (error: unknown) => {
    if (!(error instanceof ToolError) || error.code !== 'COMMAND_NOT_FOUND') throw error;
    const hint =
      'If it is a preview that was committed in the last minute, ask again; list_commands shows the newest commands.';
    throw new ToolError('NOT_FOUND', `there is no command ${id}, and none has the key ${keyOf(id)}. ${hint}`);
  };
}

/**
 * The command as it is now; if the service can't be asked, as it last was. After a request was
 * sent, an error would say the wrong thing.
 */
async function sentReceipt(
  { clock }: Session,
  client: RestClient,
  preview: Preview,
  command: CommandAnswer,
): Promise<ToolAnswer> {
  preview.command = await readCommandHistory(client, command.commandId).catch(() => command);
  return commandReceipt(preview.command, clock.nowMs(), preview.id);
}

/**
 * This process does not have the preview, so it can't send it: it
 * says what the journal has under its key.
 */
async function commitOfUnknown({ client: clientNow, clock }: Session, previewId: string): Promise<ToolAnswer> {
  const client = clientNow();
  const found = await findByPreview(client, previewId, (await readCaller(client)).principal);
  if (found !== undefined) return commandReceipt(found, clock.nowMs(), previewId);
  throw new ToolError(
    'PREVIEW_UNKNOWN',
    `there is no preview ${previewId} here: it has expired, or this program was started again since. This call sent nothing, and no command has its key ${keyOf(previewId)} now. ` +
      'If it was committed just before, the request may still arrive: ask receipt with this id in a minute, or list_commands with find set to the key. Only then make a new preview.',
  );
}

/** Sends the request, unless it may have been sent; then says what became of it. */
async function commitPreview(session: Session, preview: Preview, waitSeconds: number): Promise<ToolAnswer> {
  const client = session.client();
  if (preview.command !== undefined) return sentReceipt(session, client, preview, preview.command);
  if (session.previews.hasExpired(preview)) {
    if (preview.mayHaveArrived) return lookUp(session, client, preview);
    throw new ToolError(
      'PREVIEW_EXPIRED',
      `preview ${preview.id} has expired, and nothing was sent for it. Make a new preview.`,
    );
  }
  const caller = await readCaller(client).catch((error: unknown) => {
    if (!preview.mayHaveArrived) throw error;
    return undefined;
  });
  if (caller === undefined) return lookUp(session, client, preview);
  // A file of tokens may have got another principal's token: under its name the same key is another
  // command.
  if (caller.principal !== preview.principal)
    throw new ToolError(
      'OTHER_PRINCIPAL',
      `the preview is of ${preview.principal}, and the token is now of ${caller.principal}: this call sent nothing`,
    );
  return send(session, client, preview, waitSeconds);
}

async function send(session: Session, client: RestClient, preview: Preview, waitSeconds: number): Promise<ToolAnswer> {
  const { request, id } = preview;
  const headers = { ...request.headers, prefer: `wait=${waitSeconds}` };
  const arrivedBefore = preview.mayHaveArrived;
  preview.mayHaveArrived = true;
  const answer = await client.exchange({ ...request, headers, waitMs: waitSeconds * 1000 }).catch((error: unknown) => {
    if (error instanceof ProgramError) return undefined;
    throw error;
  });
  if (answer !== undefined && isProblem(answer) && saysNothingWasDone(answer) && !arrivedBefore) {
    const problem = problemOf(answer);
    preview.mayHaveArrived = false;
    // A retryable one keeps its preview, for the rest of its two minutes.
    if (!problem.retryable) session.previews.remove(id);
    throw problem;
  }
  const command = answer === undefined || isProblem(answer) ? undefined : commandAnswer.safeParse(answer.body).data;
  return command === undefined ? lookUp(session, client, preview) : sentReceipt(session, client, preview, command);
}

/**
 * Codes of 503 given before the journal is asked. The others come from the journal, so after them
 * the preview's key is looked up.
 */
const notTaken = new Set(['NOT_LEADER', 'DRAINING', 'SOURCE_NOT_LIVE']);

/** The service's own word that this request was not carried out, and not a proxy's. */
function saysNothingWasDone({ status, headers, body }: RestAnswer): boolean {
  if (headers.get('content-type')?.startsWith('application/problem+json') !== true) return false;
  return status < 500 || (status === 503 && notTaken.has(String(body['code'])));
}

/** For a request without an answer: the journal knows, as soon as it can be asked. */
async function lookUp(session: Session, client: RestClient, preview: Preview): Promise<ToolAnswer> {
  const found = await findByPreview(client, preview.id, preview.principal).catch(() => undefined);
  if (found === undefined)
    return unansweredReceipt(preview.id, {
      expiresAtMs: preview.expiresAtMs,
      isOpen: !session.previews.hasExpired(preview),
    });
  preview.command = found;
  return commandReceipt(found, session.clock.nowMs(), preview.id);
}
