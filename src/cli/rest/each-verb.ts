import type { z } from 'zod';
import { exitCodes, ProgramError } from '../../runtime/program-error.ts';
import { type CliIo, printResult } from '../io/io.ts';
import { type RestClient, understood } from './rest-client.ts';
import { type RestFlags, restClient } from './rest-flags.ts';
import { type AskingVerb, expectDone, requestOf, type VerbRun } from './verb.ts';

/** A verb with one request for each of several ids, one after the other. */
export interface EachVerb<Shape extends z.ZodType, Flags extends RestFlags, Result> extends AskingVerb<Shape, Flags> {
  readonly result: (id: string, answer: z.infer<Shape>) => Result;
  readonly refused: (id: string, error: ProgramError, client: RestClient) => Result | Promise<Result>;
  readonly complete?: (results: readonly Result[], run: VerbRun<Flags>) => Promise<readonly Result[]>;
  readonly text: (results: readonly Result[]) => string;
  readonly end?: (io: CliIo, results: readonly Result[]) => void;
}

/** The grammar for one, for an argument with several. */
export function each(read: (text: string) => string): (text: string, before?: readonly string[]) => readonly string[] {
  return (text, before = []) => [...before, read(text)];
}

/** Asks for each. A refused one does not stop the others; the exit code shows it. */
export async function runEach<Shape extends z.ZodType, Flags extends RestFlags, Result>(
  io: CliIo,
  verb: EachVerb<Shape, Flags, Result>,
  ids: readonly string[],
  flags: Flags,
): Promise<void> {
  const client = restClient(io, flags);
  const asked: Result[] = [];
  for (const id of ids) {
    try {
      const { body } = expectDone(await client.ask(requestOf(verb, [id], flags)));
      asked.push(verb.result(id, understood(verb.about, verb.answer, body)));
    } catch (error) {
      if (!(error instanceof ProgramError)) throw error;
      asked.push(await verb.refused(id, error, client));
      io.exit(error.exitCode);
      // The next one would fail in the same way: the service does not answer, or refuses the token.
      if (error.exitCode === exitCodes.unavailable || error.exitCode === exitCodes.denied) break;
    }
  }
  const results = (await verb.complete?.(asked, { io, client, flags, args: ids })) ?? asked;
  printResult(io, flags, results, verb.text(results));
  verb.end?.(io, results);
}
