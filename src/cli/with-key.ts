import { CliError, exitCodes } from './cli-error.ts';

/**
 * The error of a request that carried the key, for whoever has to go on. A problem says that nothing was journaled, and stays as it is. Where nothing of ours answered,
 * the request may have arrived: that is told with the one line that is safe to give, and with its own exit code.
 */
export function withKey(error: unknown, key: string): unknown {
  if (!(error instanceof CliError) || (error.code !== 'NO_ANSWER' && error.code !== 'NOT_TIDEMARK')) return error;
  return new CliError(error.message, {
    code: error.code,
    exitCode: exitCodes.unresolved,
    mend: [
      'Whether the service took it is not known. Give the same line again with',
      `  --idempotency-key ${key}`,
      'which tells what became of it, and sends it only if it had not arrived.',
    ].join('\n'),
    cause: error,
  });
}
