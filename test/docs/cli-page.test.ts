import { expect, it } from 'vitest';
import { commandEntries } from '../../src/cli/commands.ts';
import { buildProgram, runProgram } from '../../src/cli/program.ts';
import { cliIo } from '../support/rest/cli-io.ts';

const head = `# The command line

The output of \`--help\` for every command, on one page. [walkthrough.md](walkthrough.md) shows most of it at work, with real output.

Results go to stdout, and nothing else does; messages for people go to stderr. On a terminal verdicts, statuses, directions and errors have colours; \`NO_COLOR\`, \`FORCE_COLOR\` and \`--color\`, which every command takes, say otherwise, and \`--json\` never has any. Settings come from the environment ([configuration.md](configuration.md)). Commands with \`--url\` and \`--token\` speak REST, and can be used from any machine with \`TIDEMARK_URL\` and \`TIDEMARK_TOKEN\`; the others need the database, Kafka or the admin port.
`;

async function help(words: readonly string[]): Promise<string> {
  const io = cliIo();
  await runProgram(io, [...words, '--help']);
  expect([words, io.code(), io.err(), io.out()]).toEqual([words, 0, '', expect.stringContaining('Usage: tidemark')]);
  return `\n## tidemark${words.map((word) => ` ${word}`).join('')}\n\n\`\`\`\n${io.out().trimEnd()}\n\`\`\`\n`;
}

// Where it differs: npx vitest run -u --project unit test/docs/cli-page.test.ts
it('docs/cli.md is what --help prints, for every command and below', async () => {
  const parts = [head, await help([])];
  for (const { name } of commandEntries) {
    const program = await buildProgram(cliIo(), [name]);
    const command = program.commands.find((it) => it.name() === name);
    const below = (command?.commands ?? []).map((it) => [name, it.name()]);
    for (const words of [[name], ...below]) parts.push(await help(words));
  }
  await expect(parts.join('')).toMatchFileSnapshot('../../docs/cli.md');
});
