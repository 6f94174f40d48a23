import { expect, it } from 'vitest';
import { commandEntries } from '../../src/cli/commands.ts';
import { cliPage } from '../../tools/site/cli-page.ts';

it('the page of the command line has every command with its help', async () => {
  const headings = new Set((await cliPage()).match(/^## tidemark .*/gm));
  expect(commandEntries.filter(({ name }) => !headings.has(`## tidemark ${name}`))).toEqual([]);
  expect(headings.size).toBeGreaterThan(commandEntries.length);
});
