import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { type CommandEntry, commandEntries } from '../../src/cli/commands.ts';
import type { CliIo } from '../../src/cli/io/io.ts';
import { buildProgram, runProgram } from '../../src/cli/program.ts';
import { ProgramError } from '../../src/runtime/program-error.ts';
import { cliIo } from '../support/rest/cli-io.ts';

/** A command that does what the test wants. */
function entry(name: string, action: (io: CliIo) => void | Promise<void>): CommandEntry {
  return {
    name,
    summary: `${name} it`,
    load: async () => (io) => new Command(name).option('--json').action(() => action(io)),
  };
}

async function run(argv: string[], entries?: CommandEntry[], env: Record<string, string> = {}) {
  const io = cliIo(env);
  await runProgram(io, argv, entries);
  return { code: io.code(), out: io.out(), err: io.err() };
}

describe('the program', () => {
  it('runs the command that is named, and ends with the code that the command asks for', async () => {
    const entries = [entry('work', (io) => void io.stdout.write('done\n')), entry('refuse', (io) => io.exit(3))];
    expect(await run(['work'], entries)).toEqual({ code: 0, out: 'done\n', err: '' });
    expect(await run(['refuse'], entries)).toEqual({ code: 3, out: '', err: '' });
  });

  it('names a mistyped flag before the one that it should have been, and all that are missing', async () => {
    const place = ['place', '--symbol', 'AAPL', '--side', 'buy', '--type', 'market', '--qty', '1'];
    expect((await run([...place, '--acount', 'A'])).err).toContain(
      "unknown option '--acount'\n(Did you mean --account?)",
    );
    expect(await run(['place', '--account', 'A', '--symbol', 'AAPL', '--side', 'buy'])).toMatchObject({
      code: 64,
      err: expect.stringContaining("required options '--type <type>', '--qty <decimal>' not specified"),
    });
    expect((await run(place)).err).toContain("required option '--account <id>' not specified");
  });

  it('says what is wrong with an argument in plain words', async () => {
    expect((await run(['command', 'show', 'nosuch'])).err).toContain(
      "tidemark: 'nosuch' is wrong for <command>. It must be the whole id",
    );
  });

  it('loads no command but the one that is named', async () => {
    const loaded: string[] = [];
    const watched = ['work', 'rest'].map((name) => {
      const { load, ...others } = entry(name, () => {});
      const watchedLoad = () => {
        loaded.push(name);
        return load();
      };
      return { ...others, load: watchedLoad };
    });
    await run(['work', '--json'], watched);
    await run(['--help'], watched);
    expect(loaded).toEqual(['work']);
  });

  it('shows every command with its summary and examples in its help', async () => {
    const { code, out } = await run(['--help']);
    expect(code).toBe(0);
    for (const { name, summary } of commandEntries)
      expect(out).toMatch(new RegExp(`^  ${name}.* ${summary.slice(0, 20)}`, 'm'));
    expect(out).toContain('Examples:');
  });

  it.each(commandEntries.map(({ name }) => name))(
    '%s has a help with examples, by --help and by help',
    async (name) => {
      const { code, out } = await run([name, '--help']);
      expect(code).toBe(0);
      expect(out).toContain('Examples:');
      expect(await run(['help', name])).toEqual({ code: 0, out, err: '' });
    },
  );

  it('shows the help of a command below another one, by --help and by help, and of a command by its other name', async () => {
    const { code, out } = await run(['orders', 'show', '--help']);
    expect([code, out.split('\n')[0]]).toEqual([0, expect.stringContaining('tidemark orders show')]);
    expect(await run(['help', 'orders', 'show'])).toEqual({ code: 0, out, err: '' });
    expect(await run(['lanes', '--help'])).toEqual(await run(['fleet', '--help']));
    expect(await run(['help'])).toEqual(await run(['--help']));
  });

  it('tells its version', async () => {
    expect(await run(['--version'])).toEqual({ code: 0, out: '0.0.0-test\n', err: '' });
  });

  it('without a command shows the help as an error', async () => {
    const { code, out, err } = await run([]);
    expect(code).toBe(64);
    expect(out).toBe('');
    expect(err).toContain('Usage: tidemark');
  });

  it.each([
    [['statsu'], "tidemark: unknown command 'statsu'\n(Did you mean status?)\n", 'tidemark'],
    [['statsu', '--help'], "tidemark: unknown command 'statsu'\n(Did you mean status?)\n", 'tidemark'],
    [['help', 'statsu'], "tidemark: unknown command 'statsu'\n(Did you mean status?)\n", 'tidemark'],
    [['-h', 'config', 'pirnt'], "tidemark: unknown command 'pirnt'\n(Did you mean print?)\n", 'tidemark config'],
    [['status', '--jsn'], "tidemark: unknown option '--jsn'\n(Did you mean --json?)\n", 'tidemark status'],
    [['config', 'pirnt'], "tidemark: unknown command 'pirnt'\n(Did you mean print?)\n", 'tidemark config'],
    [
      ['status', 'extra'],
      "tidemark: too many arguments for 'status'. Expected 0 arguments but got 1: extra.\n",
      'tidemark status',
    ],
  ])('ends with 64 and one sentence for the wrong call %j, and says where to read on', async (argv, expected, path) => {
    expect(await run(argv)).toEqual({
      code: 64,
      out: '',
      err: `${expected}  \`${path} --help\` shows how it is called.\n`,
    });
  });
});

describe('an error that ends a command', () => {
  const failing = (error: unknown) => [entry('work', () => Promise.reject(error))];

  it('is told in one sentence, with what fixes it, and no stack', async () => {
    const error = new ProgramError('the pump is dry', { code: 'DRY', fix: 'Fill it.\nThen try again.', exitCode: 69 });
    expect(await run(['work'], failing(error))).toEqual({
      code: 69,
      out: '',
      err: 'tidemark: the pump is dry\n  Fill it.\n  Then try again.\n',
    });
  });

  it('shows its stack and causes with TIDEMARK_LOG_LEVEL=debug', async () => {
    const error = new Error('outer', { cause: new Error('inner') });
    const { err } = await run(['work'], failing(error), { TIDEMARK_LOG_LEVEL: 'debug' });
    expect(err).toMatch(/^tidemark: outer\nError: outer\n +at .*\ncaused by Error: inner\n +at /s);
  });

  it('shows no stack otherwise, but says how to see it', async () => {
    const { code, err } = await run(['work'], failing(new Error('unexpected\nsecond line')));
    expect(code).toBe(1);
    expect(err).toBe('tidemark: unexpected\n  Run it again with TIDEMARK_LOG_LEVEL=debug to see where it happened.\n');
  });

  it('finds the reason of a connection that failed, however deep it is', async () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' });
    const error = new TypeError('fetch failed', { cause: new AggregateError([refused]) });
    const { code, err } = await run(['work'], failing(error));
    expect(code).toBe(69);
    expect(err).toMatch(/^tidemark: connection refused\n {2}Run `tidemark doctor`/);
  });

  it('is told even if it is no error at all', async () => {
    expect((await run(['work'], failing('just text'))).err).toMatch(/^tidemark: just text\n/);
    expect((await run(['work'], failing(new AggregateError([])))).err).toMatch(
      /^tidemark: failed \(no reason given\)\n/,
    );
  });
});

it('every command has a name and a summary of its own', async () => {
  const program = await buildProgram(cliIo(), []);
  const names = program.commands.map((command) => command.name());
  expect(new Set(names).size).toBe(names.length);
  for (const command of program.commands) expect(command.summary()).not.toBe('');
});
