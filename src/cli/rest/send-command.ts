import { type Command, InvalidArgumentError } from 'commander';
import { exitCodes, isUnconnected, ProgramError } from '../../runtime/program-error.ts';
import { printable } from '../io/format-text.ts';
import type { CliIo } from '../io/io.ts';
import { fixOfCode, type RestAnswer, type RestRequest } from './rest-client.ts';
import { addRestFlags, type RestFlags, restClient, waitSeconds } from './rest-flags.ts';

/** The flags that `place`, `replace` and `cancel` take in addition to their terms. */
export interface SendFlags extends RestFlags {
  readonly idempotencyKey?: string;
  readonly wait?: number;
}

export function addSendFlags(command: Command): Command {
  return addRestFlags(
    command
      .option(
        '--idempotency-key <key>',
        'the same key never sends twice; when left out, one is made and printed',
        idempotencyKey,
      )
      .option('--wait <seconds>', 'how long to wait for the final outcome, at most 30', waitSeconds(30)),
  );
}

function idempotencyKey(text: string): string {
  if (/^[\x21-\x7e]{1,128}$/.test(text)) return text;
  throw new InvalidArgumentError('It must be 1 to 128 visible characters without blanks.');
}

/**
 * Sends with a key that is printed before anything is sent: with it the same line can be given
 * again after any failure, and nothing is sent twice.
 */
export async function askWithKey(
  io: CliIo,
  flags: SendFlags,
  request: RestRequest,
): Promise<RestAnswer & { readonly key: string }> {
  const client = restClient(io, flags);
  const key = flags.idempotencyKey ?? io.random.uuid();
  if (flags.idempotencyKey === undefined) io.stderr.write(`idempotency key ${key}\n`);
  const headers = { ...request.headers, 'idempotency-key': key };
  const answer = await client.ask({ ...request, headers }).catch((error: unknown) => {
    throw withKey(error, key);
  });
  return { ...answer, key };
}

/** Sends one command and prints its answer. */
export async function sendAndPrint(io: CliIo, flags: SendFlags, request: RestRequest): Promise<void> {
  const { wait } = flags;
  const headers = { ...request.headers, ...(wait !== undefined && { prefer: `wait=${wait}` }) };
  const { key, ...answer } = await askWithKey(io, flags, { ...request, headers, waitMs: (wait ?? 0) * 1000 });
  printAnswer(io, flags, answer, key);
}

function printAnswer(io: CliIo, flags: SendFlags, { status, headers, body }: RestAnswer, idempotencyKey: string): void {
  const outcome = String(body['outcome']);
  const replayed = headers.get('idempotent-replayed') === 'true';
  if (flags.json) io.stdout.write(`${JSON.stringify({ ...body, idempotencyKey, replayed })}\n`);
  else io.stdout.write(sentences(body, outcome, { unresolved: status === 202, replayed }));
  io.exit(exitCodeOf(outcome, status === 202));
}

function sentences(
  body: Readonly<Record<string, unknown>>,
  outcome: string,
  { unresolved, replayed }: { unresolved: boolean; replayed: boolean },
): string {
  const { commandId, orderId, orderStatus, reason } = body;
  const status = typeof orderStatus === 'string' ? ` (${orderStatus})` : '';
  const order = typeof orderId === 'string' ? `  order ${orderId}${status}` : '';
  const lines = [`${outcome}  command ${String(commandId)}${order}${replayed ? '  (sent before with this key)' : ''}`];
  lines.push(...reasonLines(reason, outcome).map((line) => `  ${line}`));
  if (unresolved)
    lines.push(
      `  ${whoFindsOut(outcome, body['presumedAbsent'] === true)}: tidemark command show ${String(commandId)}`,
    );
  return lines.map((line) => `${printable(line)}\n`).join('');
}

function whoFindsOut(outcome: string, presumedAbsent: boolean): string {
  if (outcome === 'conflict') return 'The facts contradict each other, and a person has to settle it';
  if (presumedAbsent)
    return 'Its outcome is not known. Many complete reads did not show it, and a person has to decide';
  return 'Its outcome is not known yet. The service is finding out';
}

/**
 * The platform and we have the same code for an order that is not found, and the same fix applies.
 */
function reasonLines(reason: unknown, outcome: string): string[] {
  if (typeof reason !== 'object' || reason === null) return [];
  const { code, message } = reason as { code?: unknown; message?: unknown };
  const fix = outcome === 'refused' && code === 'ORDER_NOT_FOUND' ? [fixOfCode(code) ?? ''] : [];
  return [`${String(message)} (${String(code)})`, ...fix];
}

/**
 * 0: the platform has it, or it took effect. 75: not known. 1: it has no
 * effect, whether we or the platform decided so.
 */
function exitCodeOf(outcome: string, unresolved: boolean): number {
  if (unresolved) return exitCodes.unresolved;
  return outcome === 'accepted' || outcome === 'applied' ? exitCodes.ok : exitCodes.failed;
}

/** Errors after which the request may have been carried out. */
const unanswered: ReadonlySet<string> = new Set(['NO_ANSWER', 'NOT_TIDEMARK', 'FORWARD_UNANSWERED']);

/**
 * The error of a request that carried the key, with the next step. A problem says that nothing was
 * journaled, and stays as it is. Where the service, or the instance that it asked, did not answer,
 * the request may have arrived, unless no connection came about: the error then names the one line
 * that is safe to give, and has its own exit code.
 */
function withKey(error: unknown, key: string): unknown {
  if (!(error instanceof ProgramError) || !unanswered.has(error.code)) return error;
  if (isUnconnected(error.cause)) {
    const { code, exitCode, fix = '' } = error;
    return new ProgramError(error.message, { code, exitCode, fix: `Nothing was sent. ${fix}`, cause: error });
  }
  return new ProgramError(error.message, {
    code: error.code,
    exitCode: exitCodes.unresolved,
    fix: [
      'It is not known whether the service took it. Give the same line again with',
      `  --idempotency-key ${key}`,
      'which shows its outcome, and sends it only if it had not arrived.',
    ].join('\n'),
    cause: error,
  });
}
