import { type Command, InvalidArgumentError } from 'commander';
import type { CliIo } from './io.ts';
import type { RestAnswer, RestRequest } from './rest-client.ts';
import { addRestFlags, type RestFlags, restClient, segment } from './rest-flags.ts';

/** What `halt`, `resume` and `cancel --all` take: whom it concerns, and why. */
export interface OperatorFlags extends RestFlags {
  readonly account?: string;
  readonly reason: string;
}

export function addReasonFlag(command: Command): Command {
  return addRestFlags(command.requiredOption('--reason <text>', 'why: recorded in the audit trail', reasonText));
}

export function reasonText(text: string): string {
  if (text.trim() !== '' && text.length <= 500) return text.trim();
  throw new InvalidArgumentError('It must say why, in at most 500 characters.');
}

/** An act of an operator on one account, or on the service where no account is named. */
export function askOperator(
  io: CliIo,
  flags: RestFlags & { readonly account?: string; readonly reason?: string },
  verb: 'halt' | 'resume' | 'cancel-all',
  { also, ...sent }: Pick<RestRequest, 'headers' | 'waitMs'> & { readonly also?: object } = {},
): Promise<RestAnswer> {
  const whom = flags.account === undefined ? '' : `/accounts/${segment(flags.account)}`;
  return restClient(io, flags).ask({
    method: 'POST',
    path: `/v1${whom}/${verb}`,
    ...sent,
    body: { reason: flags.reason, ...also },
  });
}
