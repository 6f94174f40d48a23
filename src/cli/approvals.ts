import { Command } from 'commander';
import { approvalAnswer, approvalList } from '../contract/halt-answers.ts';
import { tableText } from './io/format-text.ts';
import type { CliIo } from './io/io.ts';
import { restExitCodes } from './rest/rest-flags.ts';
import { type Verb, verbCommand } from './rest/verb.ts';

const examples = `
Examples:
  $ tidemark approvals ls
  $ tidemark approvals approve 4f7c1d1e-… --reason "checked with the desk"

The principal that asked cannot approve, with any of its tokens. A request ends after an hour.
${restExitCodes}`;

export const approvalsLs: Verb<typeof approvalList> = {
  name: 'ls',
  does: 'Lists the waiting requests, oldest first.',
  route: 'GET /v1/approvals',
  about: 'approvals',
  answer: approvalList,
  text: ({ items }) =>
    tableText(
      items,
      {
        ID: 'approvalId',
        WHAT: ({ action }) => JSON.stringify(action),
        BY: 'by',
        UNTIL: 'expiresAt',
        REASON: 'reason',
      },
      'No request waits for a second principal.',
    ),
};

export const approvalsApprove: Verb<typeof approvalAnswer> = {
  name: 'approve',
  does: 'Approves a request of another principal, and carries it out.',
  route: 'POST /v1/approvals/{approvalId}/approve',
  takes: [['<id>', 'of the request, as `approvals ls` shows it']],
  reasoned: true,
  about: 'an approval',
  answer: approvalAnswer,
  text: () => 'Approved, and done.\n',
};

/** Actions waiting for a second principal (TIDEMARK_FOUR_EYES). */
export function approvalsCommand(io: CliIo): Command {
  return new Command('approvals')
    .description('Shows requests that wait for a second principal, and approves them.')
    .addCommand(verbCommand(io, approvalsLs))
    .addCommand(verbCommand(io, approvalsApprove))
    .addHelpText('after', examples);
}
