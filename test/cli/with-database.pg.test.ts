import { afterEach, beforeEach, expect, it } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { cliIo } from '../support/rest/cli-io.ts';
import { emptyDatabase, freshDatabase, type TestDatabase } from '../support/servers/database.ts';
import { onServer } from '../support/servers/on-server.ts';

let database: TestDatabase;
let login: string;

beforeEach(async () => {
  database = await freshDatabase();
  login = `stranger_${database.name}`;
  await onServer(database.url, (client) => client.query(`create role ${login} login password 'right'`));
});

afterEach(async () => {
  await onServer(database.url, (client) => client.query(`drop role ${login}`));
  await database.drop();
});

async function run(url: string, argv: readonly string[]) {
  const io = cliIo({ DATABASE_URL: url, TIDEMARK_LOG_LEVEL: 'error' });
  await runProgram(io, argv);
  return { code: io.code(), err: io.err(), out: io.out() };
}

function as(password: string): string {
  const url = new URL(database.url);
  url.username = login;
  url.password = password;
  return url.href;
}

const commands = [
  ['audit-log', 'export'],
  ['link', '--remove', 'ann'],
  ['token', 'ls'],
  ['after-restore', '--at-least', '2'],
];

it.each(commands)('%s %s names the database that does not answer, and what to check', async (...argv) => {
  expect(await run('postgres://app:c4n4ry@127.0.0.1:1/none', argv)).toEqual({
    code: 69,
    out: '',
    err:
      'tidemark: the database at 127.0.0.1:1 does not answer: connection refused: connect ECONNREFUSED 127.0.0.1:1\n' +
      '  Check DATABASE_URL, and that the server runs and accepts this machine; `tidemark doctor` checks more.\n',
  });
});

it.each([...commands, ['migrate', '--json']])(
  '%s %s says that the password is wrong, and not which',
  async (...argv) => {
    const { code, err } = await run(as('c4n4ry'), argv);
    expect(code).toBe(69);
    expect(err).toMatch(
      /^tidemark: the database at \S+ can't be used: the database refuses the (password|user): .*\n {2}Correct the \1 in DATABASE_URL/,
    );
    expect(err).not.toContain('c4n4ry');
  },
);

it.each(commands)('%s %s tells a database that is not migrated from one that is down', async (...argv) => {
  await using empty = await emptyDatabase();
  const { code, err } = await run(empty.url, argv);
  expect([code, err]).toEqual([
    78,
    expect.stringMatching(/^tidemark: the database is not migrated to this build\n {2}Run `tidemark migrate`/),
  ]);
});

it.each(commands)('%s %s says what the login may not do, and what fixes it', async (...argv) => {
  const { code, err } = await run(as('right'), argv);
  expect([code, err]).toEqual([77, expect.stringMatching(/^tidemark: .*may not do that.*\n {2}\S.*(doctor|owner)/)]);
  expect(err).not.toContain('select "');
});
