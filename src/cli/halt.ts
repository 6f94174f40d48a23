import type { Command } from 'commander';
import type { z } from 'zod';
import { type HaltDocument, haltAnswer, resumeAnswer } from '../contract/halt-answers.ts';
import { exitCodes } from '../runtime/program-error.ts';
import { linesText, tableText } from './io/format-text.ts';
import { type RestFlags, restExitCodes } from './rest/rest-flags.ts';
import type { Verb } from './rest/verb.ts';

const haltExamples = `
Examples:
  $ tidemark halt --reason "the venue answers oddly"                     the whole service
  $ tidemark halt --account SIM-1001 --reason "strategy runs away"

Halted means cancel only: placing and replacing are refused, cancels pass. \`tidemark resume\` ends it.
${restExitCodes}`;

const resumeExamples = `
Examples:
  $ tidemark resume --reason "checked with the venue"
  $ tidemark resume --account SIM-1001 --reason "the late order is cancelled"

It clears every halt of that scope, also those of other people: first run \`tidemark command ls --unresolved\`.
${restExitCodes}`;

interface ScopeFlags extends RestFlags {
  readonly account?: string;
}

const ofScope = {
  flags: (command: Command) => command.option('--account <id>', 'only this account; without it the service'),
  reasoned: true,
  about: 'halts',
} as const;

export const haltVerb: Verb<typeof haltAnswer, ScopeFlags> = {
  name: 'halt',
  does: 'Stops placing and replacing, for one account or for the service; cancels still pass.',
  help: haltExamples,
  route: ['POST /v1/halt', 'POST /v1/accounts/{accountId}/halt'],
  ...ofScope,
  answer: haltAnswer,
  text: ({ accountKnown, halts }, { account }) =>
    `${accountKnown === false ? unknownLine(account) : ''}${haltTable(halts)}`,
};

export const resumeVerb: Verb<typeof resumeAnswer, ScopeFlags> = {
  name: 'resume',
  does: 'Allows placing and replacing again, for one account or for the service.',
  help: resumeExamples,
  route: ['POST /v1/resume', 'POST /v1/accounts/{accountId}/resume'],
  ...ofScope,
  answer: resumeAnswer,
  text: (answer, flags) => `${resumed(answer, flags)}${haltTable(answer.halts)}`,
  end: (io, { halts }, { account }) => {
    // What was asked for did not come about: the whole service is halted, and with it this account.
    if (account !== undefined && halts.some(({ scope }) => scope.kind === 'service')) io.exit(exitCodes.failed);
  },
};

/** A halt of a mistyped account stops nothing, and the right one goes on. */
function unknownLine(account = ''): string {
  return linesText([
    `No instance has ever followed an account ${account}: is the id right? The halt holds, also for an account that is listed later.`,
  ]);
}

/** The cleared halts, one line each. */
function resumed({ cleared }: z.infer<typeof resumeAnswer>, { account }: ScopeFlags): string {
  if (cleared.length === 0)
    return `Nothing to resume: ${account === undefined ? 'the service was' : `account ${account} was`} not halted.\n`;
  return linesText(
    cleared.map(
      ({ scope, cause, since, by, reason }) =>
        `Resumed ${scopeOf(scope)}: halted since ${since} (${cause}) by ${by}: ${reason}`,
    ),
  );
}

/** Every halt still in force. */
function haltTable(halts: readonly HaltDocument[]): string {
  return tableText(
    halts,
    {
      SCOPE: ({ scope }) => scopeOf(scope),
      CAUSE: 'cause',
      SINCE: 'since',
      BY: 'by',
      REASON: 'reason',
    },
    'No halt is in force.',
  );
}

function scopeOf(scope: HaltDocument['scope']): string {
  return scope.kind === 'account' ? `account ${scope.accountId}` : 'service';
}
