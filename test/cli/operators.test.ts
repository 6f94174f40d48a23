import { describe, expect, it } from 'vitest';
import { problemBody, restServer, runAgainst } from '../support/rest/rest-answers.ts';
import { json } from '../support/servers/http-server.ts';

const halt = {
  haltId: 'h-1',
  scope: { kind: 'account', accountId: 'SIM-1001' },
  cause: 'operator',
  reason: 'runs away',
  by: 'alice',
  since: '2026-11-21T15:00:00.000Z',
};

describe('halt and resume', () => {
  it('say whom they concern and why, and show the halts in force', async () => {
    const rest = await restServer((_request, response) => json(response, 200, { halts: [halt] }));
    const { code, out } = await runAgainst(rest.url, ['halt', '--account', 'SIM-1001', '--reason', ' runs away ']);
    await runAgainst(rest.url, ['resume', '--reason', 'checked']);
    expect(rest.received.map(({ method, path, body }) => [method, path, body])).toEqual([
      ['POST', '/v1/accounts/SIM-1001/halt', '{"reason":"runs away"}'],
      ['POST', '/v1/resume', '{"reason":"checked"}'],
    ]);
    expect(code).toBe(0);
    expect(out.split('\n')).toEqual([
      'SCOPE             CAUSE     SINCE                     BY     REASON',
      'account SIM-1001  operator  2026-11-21T15:00:00.000Z  alice  runs away',
      '',
    ]);
  });

  it('need a reason', async () => {
    expect(await runAgainst('http://127.0.0.1:1', ['halt'])).toMatchObject({ code: 64 });
    expect(await runAgainst('http://127.0.0.1:1', ['resume', '--reason', ' '])).toMatchObject({ code: 64 });
  });

  it('say what was resumed, and what is still halted', async () => {
    const rest = await restServer((_request, response) => json(response, 200, { halts: [], cleared: [halt] }));
    expect(await runAgainst(rest.url, ['resume', '--account', 'SIM-1001', '--reason', 'checked'])).toMatchObject({
      out: 'Resumed account SIM-1001: halted since 2026-11-21T15:00:00.000Z (operator) by alice: runs away\nNo halt is in force.\n',
    });
  });

  it('say that there was nothing to resume', async () => {
    const rest = await restServer((_request, response) => json(response, 200, { halts: [halt], cleared: [] }));
    const { out } = await runAgainst(rest.url, ['resume', '--reason', 'checked']);
    expect(out).toMatch(/^Nothing to resume: the service was not halted.\nSCOPE .*\naccount SIM-1001 /);
  });

  it('end with 1 when the account stays halted with the whole service', async () => {
    const ofService = { ...halt, scope: { kind: 'service' } };
    const rest = await restServer((_request, response) => json(response, 200, { halts: [ofService], cleared: [] }));
    expect(await runAgainst(rest.url, ['resume', '--account', 'SIM-1001', '--reason', 'checked'])).toMatchObject({
      code: 1,
    });
    expect(await runAgainst(rest.url, ['resume', '--reason', 'checked'])).toMatchObject({ code: 0 });
  });

  it('name the port that they want when nothing is at their path, as at the admin port', async () => {
    const rest = await restServer((_request, response) =>
      json(response, 404, problemBody(404, 'NOT_FOUND', 'nothing here')),
    );
    const { code, err } = await runAgainst(rest.url, ['halt', '--reason', 'x']);
    expect(code).toBe(1);
    expect(err).toContain(
      'name the port of REST (8080 unless TIDEMARK_HTTP_PORT says otherwise) with --url or TIDEMARK_URL',
    );
  });

  it('end with 69 on a standby', async () => {
    const rest = await restServer((_request, response) =>
      json(response, 503, problemBody(503, 'NOT_LEADER', 'another holds the lane')),
    );
    const { code, err } = await runAgainst(rest.url, ['halt', '--reason', 'x']);
    expect(code).toBe(69);
    expect(err).toBe('tidemark: another holds the lane (NOT_LEADER)\n  The same line may succeed later.\n');
  });
});

describe('probe', () => {
  const report = {
    unresolved: 2,
    probes: 1,
    resolved: [{ commandId: 'c-1', result: 'applied' }],
    plan: [{ accountId: 'SIM-1001', stream: 'account', read: 'complete', commands: ['c-1', 'c-2'] }],
  };

  it('tells what was read and what that resolved', async () => {
    const rest = await restServer((_request, response) => json(response, 200, report));
    const { out } = await runAgainst(rest.url, ['probe', '--account', 'SIM-1001']);
    expect(rest.received[0]).toMatchObject({ method: 'POST', path: '/v1/probe?accountId=SIM-1001&dryRun=false' });
    expect(out.split('\n')).toEqual([
      '2 unresolved, 1 read made, 1 resolved.',
      '',
      'ACCOUNT   STREAM   READ      COMMANDS',
      'SIM-1001  account  complete  c-1 c-2',
      '',
      'RESULT   COMMAND',
      'applied  c-1',
      '',
    ]);
  });

  it('names an instance that gave no answer', async () => {
    const unanswered = [{ instance: 'desk-2', code: 'NOT_REACHED' }];
    const rest = await restServer((_request, response) => json(response, 200, { ...report, unanswered }));
    const { code, err } = await runAgainst(rest.url, ['probe']);
    expect([code, err]).toEqual([75, 'desk-2 gave no answer (NOT_REACHED): its accounts are not shown\n']);
  });

  it('says with --dry-run what it would read', async () => {
    const rest = await restServer((_request, response) => json(response, 200, { ...report, resolved: [] }));
    expect((await runAgainst(rest.url, ['probe', '--dry-run'])).out).toMatch(
      /^2 unresolved, 1 read would be made, 0 resolved\.\n/,
    );
    expect(rest.received[0]?.path).toBe('/v1/probe?dryRun=true');
  });
});
