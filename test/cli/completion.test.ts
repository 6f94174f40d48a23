import { spawnSync } from 'node:child_process';
import { beforeAll, describe, expect, it } from 'vitest';
import { commandEntries } from '../../src/cli/commands.ts';
import { runProgram } from '../../src/cli/program.ts';
import { streams } from '../../src/domain/order.ts';
import { cliIo } from '../support/rest/cli-io.ts';

async function scriptFor(shell: string) {
  const io = cliIo();
  await runProgram(io, ['completion', shell]);
  expect([io.code(), io.err()]).toEqual([0, '']);
  return io.out();
}

describe('the completion of bash', () => {
  let script: string;
  beforeAll(async () => {
    script = await scriptFor('bash');
  });

  /**
   * What a real bash offers for the last of the words, which it has
   * taken apart as it does: at spaces and at `=`.
   */
  function offered(...words: string[]): string[] {
    const line = `COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tidemark; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const args = ['--norc', '-u', '-c', `eval "$SCRIPT"; eval "$SCRIPT"; ${line}`, 'bash', 'tidemark', ...words];
    const { stdout, stderr } = spawnSync('bash', args, { encoding: 'utf8', env: { ...process.env, SCRIPT: script } });
    expect(stderr).toBe('');
    return stdout.split('\n').filter((text) => text !== '');
  }

  it('offers every command, and the flags of the program', () => {
    expect(offered('')).toEqual([...commandEntries.map(({ name }) => name), 'help']);
    expect(offered('t')).toEqual(['topics', 'token', 'tail']);
    expect(offered('--')).toEqual(['--version', '--color', '--help']);
  });

  it('offers the commands below a command, and what one of them takes', () => {
    expect(offered('command', '')).toEqual(['ls', 'show', 'resolve', 'help']);
    expect(offered('command', 's')).toEqual(['show']);
    expect(offered('command', 'ls', '--un')).toEqual(['--unresolved']);
    expect(offered('completion', '')).toEqual(['bash', 'zsh', 'fish']);
  });

  it('offers flags, and the words that a flag takes', () => {
    expect(offered('tail', '--s')).toEqual(['--stream', '--symbol', '--status']);
    expect(offered('tail', '--stream', '')).toEqual([...streams]);
    expect(offered('tail', '--stream', '=', 'p')).toEqual(['prediction']);
    expect(offered('tail', '--stream', '=')).toEqual([...streams]);
    expect(offered('tail', '--count', '3', '--col')).toEqual(['--color']);
    expect(offered('orders', 'ls', '--color', 'a')).toEqual(['auto', 'always']);
  });

  it('offers files only where a flag takes one, and nothing where it takes any text', () => {
    expect(offered('sandbox', '--scenario', 'docs/scenarios/r')).toEqual(['docs/scenarios/rough-day.json']);
    expect(offered('tail', '--account', '')).toEqual([]);
    expect(offered('tail', '--account', 'tail', '--js')).toEqual(['--json']);
  });

  it('runs nothing that stands in the line', () => {
    expect(offered('tail', '$(touch /tmp/tidemark-completion-ran)', '--js')).toEqual(['--json']);
    expect(spawnSync('ls', ['/tmp/tidemark-completion-ran']).status).not.toBe(0);
  });
});

// Neither shell is on every machine, so the text is looked at.
describe.each([
  ['zsh', (word: string, summary: string) => `'${word}:${summary}'`, "(' tail --stream' | ' orders ls --stream'"],
  [
    'fish',
    (word: string, summary: string) => `'${word}' -d '${summary}'`,
    "-l stream -x -a 'account prediction alpaca alpaca_paper'",
  ],
])('the completion of %s', (shell, described, stream) => {
  it('has every command with its summary, and the words of a flag', async () => {
    const script = await scriptFor(shell);
    const escaped = (summary: string) => summary.replaceAll("'", shell === 'zsh' ? "'\\''" : "\\'");
    for (const { name, summary } of commandEntries) expect(script).toContain(described(name, escaped(summary)));
    expect(script).toContain(stream);
  });
});

it('another shell is refused with the names of those that can be had', async () => {
  const io = cliIo();
  await runProgram(io, ['completion', 'tcsh']);
  expect([io.code(), io.err()]).toEqual([64, expect.stringContaining('Allowed choices are bash, zsh, fish.')]);
});
