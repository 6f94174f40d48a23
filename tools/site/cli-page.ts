import { commandEntries } from '../../src/cli/commands.ts';
import { buildProgram, runProgram } from '../../src/cli/program.ts';
import { cliIo } from '../../test/support/rest/cli-io.ts';

const head = `# The command line

The output of \`--help\` for every command. [The walkthrough](./walkthrough.md) shows most of them at work, with real output.

Results go to stdout, messages for people to stderr. \`NO_COLOR\`, \`FORCE_COLOR\` and \`--color\` choose colours; \`--json\` never has any. Settings come from the environment ([configuration](./configuration.md)). Commands with \`--url\` and \`--token\` speak REST and run on any machine, with \`TIDEMARK_URL\` and \`TIDEMARK_TOKEN\`. The others need the database, Kafka or the admin port.
`;

/** The page of the site with every flag. Throws where a command has no help. */
export async function cliPage(): Promise<string> {
  const parts = [head, await help([])];
  for (const { name } of commandEntries) {
    const program = await buildProgram(cliIo(), [name]);
    const command = program.commands.find((it) => it.name() === name);
    const below = (command?.commands ?? []).map((it) => [name, it.name()]);
    for (const words of [[name], ...below]) parts.push(await help(words));
  }
  return parts.join('');
}

async function help(words: readonly string[]): Promise<string> {
  const io = cliIo();
  await runProgram(io, [...words, '--help']);
  const text = io.out().trimEnd();
  if (io.code() !== 0 || io.err() !== '' || !text.includes('Usage: tidemark'))
    throw new Error(`tidemark ${words.join(' ')} --help: code ${io.code()}, ${io.err() || text}`);
  return `\n## tidemark${words.map((word) => ` ${word}`).join('')}\n\n\`\`\`\n${text}\n\`\`\`\n`;
}
