import { Command } from 'commander';
import { exitCodes, ProgramError } from '../runtime/program-error.ts';
import { formatTable, printable } from './io/format-text.ts';
import type { CliIo } from './io/io.ts';
import type { RestAnswer } from './rest/rest-client.ts';
import { addReasonFlag, addRestFlags, type RestFlags, restClient, restExitCodes, segment } from './rest/rest-flags.ts';

const examples = `
Examples:
  $ tidemark approvals ls
  $ tidemark approvals approve 4f7c1d1e-… --reason "checked with the desk"

The principal that asked cannot approve, with any of its tokens. A request ends after an hour.
${restExitCodes}`;

/** The actions that wait for a second principal (TIDEMARK_FOUR_EYES). */
export function approvalsCommand(io: CliIo): Command {
  return new Command('approvals')
    .description('Shows requests that wait for a second principal, and approves them.')
    .addCommand(listCommand(io))
    .addCommand(approveCommand(io))
    .addHelpText('after', examples);
}

function listCommand(io: CliIo): Command {
  return addRestFlags(new Command('ls').description('Lists the waiting requests, oldest first.')).action(
    async (flags: RestFlags) => {
      const { body } = await restClient(io, flags).ask({ method: 'GET', path: '/v1/approvals' });
      io.stdout.write(flags.json ? `${JSON.stringify(body)}\n` : approvalTable(body['items']));
    },
  );
}

function approveCommand(io: CliIo): Command {
  const command = new Command('approve')
    .description('Approves a request of another principal, and carries it out.')
    .argument('<id>', 'of the request, as `approvals ls` shows it');
  return addReasonFlag(command).action(async (id: string, flags: RestFlags & { readonly reason: string }) => {
    const path = `/v1/approvals/${segment(id)}/approve`;
    const { body } = await restClient(io, flags).ask({ method: 'POST', path, body: { reason: flags.reason } });
    io.stdout.write(flags.json ? `${JSON.stringify(body)}\n` : 'Approved, and done.\n');
  });
}

function approvalTable(items: unknown): string {
  const rows = Array.isArray(items) ? items : [];
  if (rows.length === 0) return 'No request waits for a second principal.\n';
  return formatTable([
    ['ID', 'WHAT', 'BY', 'UNTIL', 'REASON'],
    ...rows.map(({ approvalId, deed, by, expiresAt, reason }) =>
      [approvalId, JSON.stringify(deed), by, expiresAt, reason].map((cell) => printable(String(cell))),
    ),
  ]);
}

/**
 * Throws when the answer says that nothing was done yet because
 * a second principal has to approve it.
 */
export function expectDone(answer: RestAnswer): RestAnswer {
  const { approval } = answer.body;
  if (typeof approval !== 'object' || approval === null) return answer;
  const { approvalId, expiresAt } = approval as Readonly<Record<string, unknown>>;
  throw new ProgramError(
    `nothing was done yet: request ${printable(String(approvalId))} waits for a second principal, until ${printable(String(expiresAt))}`,
    {
      code: 'APPROVAL_NEEDED',
      exitCode: exitCodes.unresolved,
      fix: `Another principal runs \`tidemark approvals approve ${printable(String(approvalId))} --reason …\`.`,
    },
  );
}
