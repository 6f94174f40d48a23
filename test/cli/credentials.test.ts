import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Scope } from '../../src/service/rest/auth/principal.ts';
import { sampleRow } from '../support/orders/memory-dead-letters.ts';
import { problemBody, restServer, runAgainst } from '../support/rest/rest-answers.ts';
import { sha256, startRest } from '../support/rest/rest-rig.ts';
import { json } from '../support/servers/http-server.ts';

describe("issue: A gateway's JSON error counted as the service's word, and the order was placed twice.", () => {
  const place = ['place', '--symbol', 'AAPL', '--account', 'A', '--side', 'buy', '--qty', '1', '--type', 'market'];

  it('an error that is no problem of the service leaves the result open, and names the line to repeat', async () => {
    const rest = await restServer((_request, response) =>
      json(response, 504, { code: 'UPSTREAM_TIMEOUT', message: 'm' }),
    );
    const { code, err } = await runAgainst(rest.url, [...place, '--idempotency-key', 'k-7']);
    expect([code, err]).toEqual([75, expect.stringContaining('--idempotency-key k-7')]);
  });

  it('a problem of the service says that nothing was journaled', async () => {
    const rest = await restServer((_request, response) =>
      json(response, 503, problemBody(503, 'NOT_LEADER', 'no process')),
    );
    const { code, err } = await runAgainst(rest.url, [...place, '--idempotency-key', 'k-7']);
    expect([code, err]).toEqual([69, expect.not.stringContaining('--idempotency-key k-7')]);
  });
});

describe('issue: `dead-letters retry 17` needed a login of the database, `dead-letters retry --all` a token.', () => {
  /** The routes as they are served, and a token for each set of scopes. No database anywhere. */
  async function start() {
    const token = (name: string, scopes: readonly Scope[], accounts: 'all' | string[] = 'all') => ({
      ...{ name, sha256: sha256(name), scopes, accounts },
    });
    const tokens = [
      token('reader', ['ops:read']),
      token('desk', ['ops:read', 'ops:write']),
      token('other', ['ops:read', 'ops:write'], ['ACC-9']),
      token('caller', ['orders:read']),
    ];
    const rig = await startRest({ auth: { tokens } });
    onTestFinished(() => rig.server.drain(new AbortController().signal));
    const { accountId: _account, orderId: _order, ...nameless } = sampleRow({ id: '19' });
    rig.deadLetters.rows = [sampleRow(), sampleRow({ id: '18' }), nameless];
    return {
      ...rig,
      run: (name: string, ...argv: string[]) => runAgainst(rig.address, argv, { TIDEMARK_TOKEN: name }),
    };
  }

  it('rows by number are listed, shown, retried and discarded with the token alone', async () => {
    const { run, deadLetters } = await start();
    const ids = async (...flags: string[]) =>
      JSON.parse((await run('reader', 'dead-letters', 'ls', '--json', ...flags)).out).map(
        ({ id }: { id: string }) => id,
      );
    expect(await ids()).toEqual(['17', '18', '19']);
    expect(await ids('--after', '17')).toEqual(['18', '19']);
    expect((await run('reader', 'dead-letters', 'ls', '--limit', '2')).err).toBe(
      'There are more: raise --limit (2).\n',
    );
    expect((await run('reader', 'dead-letters', 'ls', '--after', '19')).out).toBe(
      'There are no rows after that one.\n',
    );
    expect((await run('reader', 'dead-letters', 'show', '17')).out).toMatch(
      /^id +17\n[\s\S]*\ndealtAt +-\n\n\{"price":1e5\}\n$/,
    );

    const retried = await run('desk', 'dead-letters', 'retry', '17', '19', '99');
    expect([retried.code, retried.out]).toEqual([
      1,
      '17: failed, not shown\n19: failed, it names no order: check it, and discard it\n99: failed, there is no such row\n',
    ]);
    const discarded = await run('desk', 'dead-letters', 'discard', '17', '--reason', 'looked at');
    expect([discarded.code, discarded.out]).toEqual([0, '17: done, discarded\n']);
    expect(await run('desk', 'dead-letters', 'discard', '17')).toMatchObject({
      code: 1,
      out: '17: failed, it has been dealt with\n',
    });
    const word = { by: 'desk', requestId: expect.any(String) };
    expect(deadLetters.actions).toEqual([
      { retry: '17', word: { ...word, reason: 'at the command line' } },
      { discard: '17', word: { ...word, reason: 'looked at' } },
    ]);
  });

  it('a retry that is not answered in time stays asked for, and says so', async () => {
    const { run, deadLetters } = await start();
    deadLetters.answer = 'open';
    expect(await run('desk', 'dead-letters', 'retry', '17', '--wait', '1')).toMatchObject({
      code: 75,
      out: '17: waiting, no process that follows the account has read it yet; it stays asked for\n',
    });
    expect((await run('reader', 'dead-letters', 'show', '17')).out).toMatch(/^retry +waiting, asked /m);
  });

  it('a backfill names its principal and its reason, and waits for the answer', async () => {
    const { run, repairs } = await start();
    expect(await run('desk', 'backfill', 'ACC-1', '--wait', '1')).toMatchObject({
      code: 75,
      out: 'account ACC-1: waiting, no process that follows the account has read it yet; it stays asked for\n',
    });
    expect(repairs.asked).toMatchObject([{ kind: 'backfill', askedBy: 'desk', reason: 'at the command line' }]);
    for (const [name, account] of [
      ['desk', 'ACC-2'],
      ['other', 'ACC-1'],
    ] as const)
      expect(await run(name, 'backfill', account)).toMatchObject({
        code: 1,
        err: 'tidemark: there is no such account (ACCOUNT_NOT_FOUND)\n  `tidemark status` shows the accounts that are followed; a token may see fewer.\n',
      });
  });

  it('the fleet is what any instance answers', async () => {
    const { run } = await start();
    const { code, out } = await run('reader', 'fleet', '--json');
    expect([code, JSON.parse(out).lanes[0].holder]).toEqual([0, 'one']);
  });

  it.each([
    ['caller', ['dead-letters', 'ls']],
    ['caller', ['fleet']],
    ['reader', ['dead-letters', 'retry', '17', '18']],
    ['reader', ['dead-letters', 'discard', '17']],
    ['reader', ['backfill', 'ACC-1']],
  ])('a token without the right is refused: %s, %j', async (name, argv) => {
    const { run, deadLetters, repairs } = await start();
    expect((await run(name, ...argv)).code).toBe(77);
    expect([deadLetters.actions, repairs.asked]).toEqual([[], []]);
  });

  it('no other verb opens the database than those for a time without a service, or that own the schema', () => {
    const folder = join(import.meta.dirname, '../../src/cli');
    const opening = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .filter((name) => /from '[./]+\/store\/|with-database\.ts'/.test(readFileSync(join(folder, name), 'utf8')))
      .map((name) => name.split('/')[0]?.replace('.ts', ''));
    expect([...new Set(opening)].toSorted()).toEqual(
      [
        ...[
          'after-restore',
          'audit-log',
          'doctor',
          'link',
          'migrate',
          'replay',
          'token',
          'accept-topic',
          'topics',
          'verify',
        ],
        'with-database',
      ].toSorted(),
    );
  });
});
