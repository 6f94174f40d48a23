import { Command } from 'commander';
import { plural } from '../runtime/plural.ts';
import { exitCodes, ProgramError } from '../runtime/program-error.ts';
import { aborted } from '../runtime/waiting.ts';
import { printable } from './io/format-text.ts';
import { abortOnSignal, type CliIo } from './io/io.ts';
import { PreviewBook } from './mcp/preview-book.ts';
import { readCaller } from './mcp/previews.ts';
import { makeServer, offeredTools, serveMcp } from './mcp/serve-mcp.ts';
import { addSignInFlags, type RestFlags, restClient } from './rest/rest-flags.ts';

const help = `
Examples:
  $ tidemark mcp                   the client of an assistant runs this line, and speaks with it on stdin and stdout
  $ tidemark mcp --read-only

In the client's file of servers:
  { "mcpServers": { "tidemark": { "command": "npx", "args": ["tidemark", "mcp"], "env": { "TIDEMARK_TOKEN_FILE": "…" } } } }

The rights of the token decide which tools there are. An order is sent in two calls: a preview, which shows the exact request, and its commit.
docs/mcp.md lists the tools.

Exit codes: 0 the client has ended it, 64 wrong usage, 69 the service is unavailable, 77 not allowed with this token.`;

interface McpFlags extends Omit<RestFlags, 'json'> {
  readonly readOnly?: true;
}

/** Tools for an assistant, over REST. */
export function mcpCommand(io: CliIo): Command {
  const command = new Command('mcp')
    .description(
      'Serves tools for an assistant (Model Context Protocol) on stdin and stdout, over REST of a running service.',
    )
    .option('--read-only', 'offer no tool that sends a command, whatever the token may do');
  return addSignInFlags(command)
    .addHelpText('after', help)
    .action((flags: McpFlags) => serve(io, flags));
}

async function serve(io: CliIo, flags: McpFlags): Promise<void> {
  const client = () => restClient(io, flags);
  // `ask`: at the start, a refused token or a missing service ends the program with its own exit
  // code.
  await client().ask({ method: 'GET', path: '/v1/me' });
  const caller = await readCaller(client());
  const offered = offeredTools(caller, flags);
  if (offered.length === 0)
    throw new ProgramError(
      `no tool is for ${printable(caller.principal)}: the token has only ${caller.scopes.join(' ')}`,
      {
        code: 'NO_TOOL',
        exitCode: exitCodes.denied,
        fix: 'Give the token orders:read or ops:read; to send orders also orders:write.',
      },
    );
  const session = { client, previews: new PreviewBook(io), clock: io.clock };
  io.stderr.write(
    `${printable(caller.principal)}: ${plural(offered.length, 'tool')}: ${offered.map(({ name }) => name).join(' ')}\n`,
  );
  using interrupted = abortOnSignal(io);
  await serveMcp(io.pipe, () => makeServer(session, offered, io.version), {
    stopped: aborted(interrupted.signal),
    onFault: (error) => io.stderr.write(`a message of the client: ${printable(error.message).slice(0, 300)}\n`),
  });
}
