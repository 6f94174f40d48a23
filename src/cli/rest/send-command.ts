import { type Command, InvalidArgumentError } from 'commander';
import { exitCodes } from '../../runtime/program-error.ts';
import { printable } from '../io/format-text.ts';
import type { CliIo } from '../io/io.ts';
import { fixOfCode, type RestAnswer, type RestRequest } from './rest-client.ts';
import { addRestFlags, type RestFlags, restClient, waitSeconds, withKey } from './rest-flags.ts';

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
      .option('--wait <seconds>', 'how long to wait for the final outcome, at most 30', waitSeconds),
  );
}

function idempotencyKey(text: string): string {
  if (/^[\x21-\x7e]{1,128}$/.test(text)) return text;
  throw new InvalidArgumentError('It must be 1 to 128 visible characters without blanks.');
}

/**
 * Sends one command and prints its answer. The key is printed before anything is sent: with it the
 * same line can be given again after any failure, and nothing is sent twice.
 */
export async function sendAndPrint(io: CliIo, flags: SendFlags, request: RestRequest): Promise<void> {
  const client = restClient(io, flags);
  const key = flags.idempotencyKey ?? io.random.uuid();
  if (flags.idempotencyKey === undefined) io.stderr.write(`idempotency key ${key}\n`);
  const waitMs = (flags.wait ?? 0) * 1000;
  const headers = {
    ...request.headers,
    'idempotency-key': key,
    ...(flags.wait === undefined ? {} : { prefer: `wait=${flags.wait}` }),
  };
  const answer = await client.ask({ ...request, headers, waitMs }).catch((error: unknown) => {
    throw withKey(error, key);
  });
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
