import { expectDone } from '../approvals.ts';
import { CliError, exitCodes } from '../cli-error.ts';
import type { CliIo } from '../io.ts';
import { printable } from '../printable.ts';
import { type RestFlags, restClient, segment } from '../rest-flags.ts';

export interface SettleFlags extends RestFlags {
  readonly outcome: string;
  readonly reason: string;
}

/** `command settle`: a person's word on each of the commands, one after the other. One that is refused does not hold up the others; the exit code tells. */
export async function settleCommands(io: CliIo, ids: readonly string[], flags: SettleFlags): Promise<void> {
  const client = restClient(io, flags);
  const { outcome, reason } = flags;
  const results: { readonly commandId: string; readonly outcome?: unknown; readonly error?: string; readonly code?: string }[] =
    [];
  for (const commandId of ids) {
    try {
      const path = `/v1/commands/${segment(commandId)}/settlement`;
      const { body } = expectDone(await client.ask({ method: 'POST', path, body: { outcome, reason } }));
      results.push({ commandId, outcome: body['outcome'] });
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      results.push({ commandId, error: error.message, code: error.code });
      io.exit(error.exitCode);
      // The next one would meet the same: nobody answers, or the token will not do.
      if (error.exitCode === exitCodes.unavailable || error.exitCode === exitCodes.denied) break;
    }
  }
  if (flags.json) io.stdout.write(`${JSON.stringify(results)}\n`);
  else
    for (const { commandId, outcome: now, error } of results)
      io.stdout.write(`${printable(`${error ?? String(now)}  command ${commandId}`)}\n`);
}
