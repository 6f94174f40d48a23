import { describe, expect, it } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { cliIo } from '../support/rest/cli-io.ts';
import { problemBody, restServer, runAgainst } from '../support/rest/rest-answers.ts';
import { json } from '../support/servers/http-server.ts';

const jobId = '7a1f0c52-0d5e-4c1b-9a53-1f2b3c4d5e6f';
const reason = ['--reason', 'the new build reads it'];

function job(over: object = {}) {
  const counts = { total: 4, done: 0, failed: 0, withdrawn: 0, failures: [] };
  const asked = { by: 'desk', reason: 'r', askedAt: '2026-11-21T15:00:00.000Z', filter: {} };
  return { job: { jobId, action: 'retry', state: 'running', ...asked, ...counts, ...over } };
}

const ended = job({
  ...{ state: 'ended', done: 3, failed: 1 },
  failures: [{ detail: 'the platform does not show the order any more', rows: 1 }],
});

describe('--all', () => {
  it('makes one job of what matches, and shows how it goes until it has ended', async () => {
    const looks = [job({ done: 1 }), 'away', ended] as const;
    let asked = -1;
    const rest = await restServer(({ method }, response) => {
      if (method === 'POST') return json(response, 202, job());
      asked += 1;
      const look = looks[asked] ?? ended;
      return look === 'away'
        ? json(response, 503, problemBody(503, 'DRAINING', 'stopping'))
        : json(response, 200, look);
    });
    const io = { ...cliIo({ TIDEMARK_URL: rest.url }), isTerminal: true };
    const line = ['--all', ...reason, '--stream', 'account', '--account', 'SIM-1001', '--only', 'bad_decimal'];
    await runProgram(io, ['dead-letters', 'retry', ...line]);
    expect(rest.received.map(({ method, path, body }) => [method, path, body])).toEqual([
      [
        'POST',
        '/v1/dead-letters/jobs',
        '{"action":"retry","filter":{"stream":"account","accountId":"SIM-1001","reason":"bad_decimal"},"reason":"the new build reads it","dryRun":false}',
      ],
      ...looks.map(() => ['GET', `/v1/dead-letters/jobs/${jobId}`, '']),
    ]);
    expect(io.err()).toContain('4 of 4 rows, 1 failed');
    expect([io.code(), io.out()]).toEqual([
      1,
      `retry ${jobId}: ended, 4 rows, 3 done, 1 failed, 0 withdrawn\n  1 row: the platform does not show the order any more\n`,
    ]);
  });

  it('only counts with --dry-run', async () => {
    const rest = await restServer((_request, response) => json(response, 200, { total: 3, nameless: 1 }));
    const { code, out } = await runAgainst(rest.url, ['dead-letters', 'retry', '--all', ...reason, '--dry-run']);
    expect([code, out]).toEqual([0, '3 rows would be retried; 1 of them name no order, and it would fail for them.\n']);
    expect(rest.received.map(({ body }) => JSON.parse(body))).toMatchObject([{ filter: {}, dryRun: true }]);
  });

  it('ends with 75 when the user stops watching, and says how to go on', async () => {
    const rest = await restServer((_request, response) => json(response, 202, job({ action: 'discard' })));
    const io = cliIo({ TIDEMARK_URL: rest.url });
    const run = runProgram(io, ['dead-letters', 'discard', '--all', ...reason]);
    await expect.poll(() => rest.received.length).toBeGreaterThan(1);
    io.signal('SIGINT');
    await run;
    expect([io.code(), io.err()]).toEqual([75, expect.stringContaining(`tidemark dead-letters jobs ${jobId}`)]);
    expect(io.out()).toBe(`discard ${jobId}: running, 4 rows, 0 done, 0 failed, 0 withdrawn\n`);
  });

  it.each([
    [['retry'], 'it needs the numbers of rows, or --all'],
    [['discard', '17', '--all', ...reason], 'it takes the numbers of rows or --all, not both'],
    [['discard', '--all'], '--all needs --reason'],
    [['discard', '17', '--account', 'A'], '--account is for --all'],
    [['retry', '17', '--dry-run'], '--dry-run is for --all'],
  ])('%j is wrong usage', async (line, message) => {
    const { code, err } = await runAgainst('http://127.0.0.1:1', ['dead-letters', ...line]);
    expect([code, err]).toEqual([64, expect.stringContaining(message)]);
  });
});

it('jobs shows the newest, and one with the reasons of its failures', async () => {
  const rest = await restServer(({ path }, response) =>
    json(response, 200, path === '/v1/dead-letters/jobs' ? { items: [ended.job] } : ended),
  );
  const all = await runAgainst(rest.url, ['dead-letters', 'jobs']);
  expect(all.out.split('\n')[1]?.split(/ {2,}/)).toEqual([
    ...[jobId, '2026-11-21T15:00:00.000Z', 'retry', 'ended', '4', '3', '1', 'desk', 'r'],
  ]);
  expect(JSON.parse((await runAgainst(rest.url, ['dead-letters', 'jobs', '--json'])).out)).toEqual([ended.job]);
  expect((await runAgainst(rest.url, ['dead-letters', 'jobs', jobId])).out).toContain(
    '  1 row: the platform does not show',
  );
});

it('cancel-job cancels one, with a reason', async () => {
  const cancelled = job({ state: 'cancelled', withdrawn: 4 });
  const rest = await restServer((_request, response) => json(response, 200, cancelled));
  const { code, out } = await runAgainst(rest.url, ['dead-letters', 'cancel-job', jobId, ...reason]);
  expect(rest.received.map(({ method, path }) => `${method} ${path}`)).toEqual([
    `POST /v1/dead-letters/jobs/${jobId}/cancel`,
  ]);
  expect([code, out]).toEqual([0, `retry ${jobId}: cancelled, 4 rows, 0 done, 0 failed, 4 withdrawn\n`]);
});
