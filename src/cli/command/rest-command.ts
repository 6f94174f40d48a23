import { z } from 'zod';
import { commandAnswer } from '../../schema/rest-answers.ts';
import { CliError, exitCodes } from '../cli-error.ts';

/** A command as REST tells of it. */
export type RestCommand = z.infer<typeof commandAnswer>;

export function readCommand(body: unknown): RestCommand {
  const read = commandAnswer.safeParse(body);
  if (read.success) return read.data;
  throw new CliError('the service tells of a command in a way that this program does not understand', {
    code: 'ANSWER',
    exitCode: exitCodes.unavailable,
    mend: `Use the program of the service's own version. ${z.prettifyError(read.error)}`,
    cause: read.error,
  });
}

export function readCommands(body: Readonly<Record<string, unknown>>): readonly RestCommand[] {
  const items = body['items'];
  return Array.isArray(items) ? items.map(readCommand) : [];
}
