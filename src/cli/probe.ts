import type { z } from 'zod';
import { probeAnswer } from '../contract/rest-answers.ts';
import { plural } from '../runtime/plural.ts';
import { exitCodes } from '../runtime/program-error.ts';
import { printable, tableText } from './io/format-text.ts';
import { longestHoldMs } from './rest/rest-client.ts';
import { type RestFlags, restExitCodes, tellUnanswered } from './rest/rest-flags.ts';
import type { Verb } from './rest/verb.ts';

const examples = `
Examples:
  $ tidemark probe --dry-run                     the reads that would be made, and for which commands; reads nothing
  $ tidemark probe --account SIM-1001
  $ tidemark probe --json | jq '.resolved[]'

It only reads, within the budget of probes: it never places and never cancels.
${restExitCodes}`;

interface ProbeFlags extends RestFlags {
  readonly account?: string;
  readonly dryRun?: true;
}

export const probeVerb: Verb<typeof probeAnswer, ProbeFlags> = {
  name: 'probe',
  does: 'Asks the platform at once about every command with an unknown result, instead of when its next probe is due.',
  help: examples,
  route: 'POST /v1/probe',
  flags: (command) =>
    command.option('--account <id>', 'only this account').option('--dry-run', 'only show the reads that would be made'),
  // A complete read waits for the account's one reader, and a whole round for the request budget.
  ask: ({ account, dryRun = false }) => ({
    query: { accountId: account, dryRun: String(dryRun) },
    waitMs: longestHoldMs,
  }),
  about: 'the result of a probe',
  answer: probeAnswer,
  text: report,
  end: (io, { unanswered, left = [] }) => {
    for (const { accountId, commands } of left)
      io.stderr.write(`${printable(`${accountId}: ${commands.join(' ')}`)} left open: no process could look\n`);
    if (tellUnanswered(io, unanswered) || left.length > 0) io.exit(exitCodes.unresolved);
  },
};

function report({ unresolved, probes, resolved, plan }: z.infer<typeof probeAnswer>, { dryRun }: ProbeFlags): string {
  const head =
    unresolved === 0
      ? 'No command is unresolved.'
      : `${unresolved} unresolved, ${plural(probes, 'read')} ${dryRun ? 'would be made' : 'made'}, ${resolved.length} resolved.`;
  const reads = tableText(plan, {
    ACCOUNT: 'accountId',
    STREAM: 'stream',
    READ: 'read',
    COMMANDS: ({ commands }) => commands.join(' '),
  });
  const results = tableText(resolved, { RESULT: 'result', COMMAND: 'commandId' });
  return [`${head}\n`, ...(plan.length > 0 ? [reads] : []), ...(resolved.length > 0 ? [results] : [])].join('\n');
}
