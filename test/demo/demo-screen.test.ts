import { expect, it } from 'vitest';
import { DemoScreen } from '../../src/demo/demo-screen.ts';
import { cliIo } from '../support/rest/cli-io.ts';

function screenOn(isTerminal: boolean, output: 'stdout' | 'stderr', columns = 40) {
  const written = { stdout: '', stderr: '' };
  const into = (name: 'stdout' | 'stderr') => ({
    write: (text: string) => {
      written[name] += text;
      return true;
    },
  });
  const io = { ...cliIo(), isTerminal, columns, stdout: into('stdout'), stderr: into('stderr') };
  return { screen: new DemoScreen(io, output), written };
}

it('a line of the screen overwrites the line in place, which is cut visibly at the width of the terminal', () => {
  const { screen, written } = screenOn(true, 'stdout');
  screen.show('x'.repeat(100));
  screen.say('a line');
  expect(written.stdout).toBe(`\r${'x'.repeat(38)}…\u001b[K\r\u001b[Ka line\n`);
});

it.each([
  [false, 'stdout'],
  [true, 'stderr'],
] as const)('where it is no terminal there are lines alone (terminal %s, %s)', (isTerminal, output) => {
  const { screen, written } = screenOn(isTerminal, output);
  screen.show('in place');
  screen.say('a line');
  expect(written).toEqual({ stdout: '', stderr: '', [output]: 'a line\n' });
});
