import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { ask, askToken, control, controlLines } from '../support/platform/sandbox.ts';
import { cliIo } from '../support/rest/cli-io.ts';
import { eventually } from '../support/runs/poll.ts';

/** The command in this process, up to its first output. */
async function started(...flags: string[]) {
  const io = cliIo();
  const run = runProgram(io, ['sandbox', ...flags]);
  await eventually(() => expect(`${io.out()}${io.err()}`).not.toBe(''));
  return { io, run };
}

describe('tidemark sandbox', () => {
  it('tells a script everything in its first line, and nothing else', async () => {
    const { io, run } = await started('--json', '--rate', '100');
    const at = JSON.parse(io.out());
    expect((await askToken(at)).status).toBe(200);
    await eventually(async () => expect((await controlLines(at, '/ledger?kind=change')).length).toBeGreaterThan(5));
    io.signal('SIGTERM');
    await run;
    expect(io.out().trim().split('\n')).toHaveLength(1);
    expect([io.code(), io.err()]).toEqual([0, '']);
    await expect(ask(at.platform)).rejects.toThrow();
  });

  it('tells people what to set and who may sign in', async () => {
    const { io, run } = await started();
    expect(io.out()).toMatch(/^PLATFORM_URL=http:\/\/127\.0\.0\.1:\d+$/m);
    expect(io.out()).toMatch(/^ {2}alice +password/m);
    io.signal('SIGINT');
    await run;
  });

  it('is Alpaca where it is asked to be, with an address and a key pair for each account', async () => {
    const { io, run } = await started('--venue', 'alpaca', '--json', '--rate', '0', '--accounts', '4');
    const at = JSON.parse(io.out());
    expect([at.venue, at.accounts.length]).toEqual(['alpaca', 5]);
    const [{ id, keyId, secretKey }] = at.accounts;
    const headers = { 'APCA-API-KEY-ID': keyId, 'APCA-API-SECRET-KEY': secretKey };
    expect((await ask(`${at.url}/v2/account`, { headers })).json.id).toBe(id);
    await control(at, '/stop');
    await run;
    expect([io.code(), io.err()]).toEqual([0, '']);
  });

  it('tells people the settings that follow Alpaca, and the keys of each account', async () => {
    const { io, run } = await started('--venue', 'alpaca', '--rate', '0', '--accounts', '1');
    expect(io.out()).toMatch(
      /^VENUES=alpaca\nALPACA_KEY_ID=PKSIM-1001\nALPACA_SECRET_KEY=sandbox-secret-of-SIM-1001\nALPACA_URL=http:/m,
    );
    expect(io.out()).toMatch(/^ {2}SIM-1001 +key PKSIM-1001 +secret sandbox-secret-of-SIM-1001$/m);
    expect(io.out(), 'one account alone').not.toContain('SIM-1002');
    io.signal('SIGINT');
    await run;
  });

  it('listens where it is told to, and nowhere else', async () => {
    const { io, run } = await started('--json', '--rate', '0', '--host', '127.0.0.2');
    const at = JSON.parse(io.out());
    expect(at.platform).toMatch(/^http:\/\/127\.0\.0\.2:\d+$/);
    expect((await askToken(at)).status).toBe(200);
    await expect(fetch(at.platform.replace('127.0.0.2', '127.0.0.1'))).rejects.toThrow();
    io.signal('SIGTERM');
    await run;
  });

  it('ends with 0 when its control port was asked to stop it', async () => {
    const { io, run } = await started('--json');
    await control(JSON.parse(io.out()), '/stop');
    await run;
    expect(io.code()).toBe(0);
  });

  it('takes a scenario, and flags over it', async () => {
    const path = join(cliIo().cwd, 'scenario.json');
    const users = [{ username: 'dora', password: 'd', accounts: [{ id: 'D-1', predictions: true }] }];
    writeFileSync(path, JSON.stringify({ market: { seed: 5, rate: 0, knownOrders: 7, openOrders: 3 }, users }));
    const { io, run } = await started('--json', '--scenario', path, '--known-orders', '9');
    const at = JSON.parse(io.out());
    expect(at.users).toEqual([{ ...users[0], mfa: null }]);
    expect(await controlLines(at, '/state')).toHaveLength(9);
    io.signal('SIGTERM');
    await run;
  });

  it.each([
    [['--rate', 'fast'], /whole number|number, or max/],
    [['--port', '70000'], /too big|65535/i],
    [['--scenario', 'missing.json'], /missing\.json is not a scenario/],
    [['--ledger', 'some'], /full, brief/],
  ])('refuses %j with a sentence', async (flags, sentence) => {
    const io = cliIo();
    await runProgram(io, ['sandbox', ...flags]);
    expect(io.err()).toMatch(sentence);
    expect(io.err()).not.toContain('    at ');
    expect(io.code()).toBe(64);
  });

  it('refuses a scenario with a word that it does not know, and names the word', async () => {
    const path = join(cliIo().cwd, 'scenario.json');
    writeFileSync(path, '{"markets":{}}');
    const io = cliIo();
    await runProgram(io, ['sandbox', '--scenario', path]);
    expect(io.err()).toContain('markets');
    expect(io.code()).toBe(64);
  });
});
