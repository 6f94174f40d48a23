import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { linkAs, linkedSandbox } from '../support/platform/linked-sandbox.ts';
import { control, controlLines } from '../support/platform/sandbox.ts';
import { alice, bob } from '../support/platform/sign-in.ts';
import { cliIo } from '../support/rest/cli-io.ts';
import { eventually } from '../support/runs/poll.ts';
import { nothingWrong, type RunningService, World } from '../support/runs/service-under-test.ts';

/** Tokens that last 6 s are renewed every 5 s: a run of half a minute sees several rotations. */
const shortLived = { tokens: { lifetimeSeconds: 6 }, market: { rate: 30, openOrders: 40, knownOrders: 80 } } as const;

async function linkedWorld() {
  const { sandbox, port } = await linkedSandbox(shortLived);
  const env = { PLATFORM_CREDENTIALS: 'linked', TIDEMARK_ENCRYPTION_KEY: randomBytes(32).toString('base64') };
  const { PLATFORM_CLIENT_SECRET: _, ...platform } = platformSettings(sandbox.description);
  // The public client: nothing but the user's own sign-in gives it a token.
  const open = { ...platform, PLATFORM_CLIENT_ID: sandbox.description.publicClientId };
  const world = await World.create({ platform: open, env });
  const link = () => linkAs(alice, { DATABASE_URL: world.databaseUrl, ...open, ...env }, port);
  return { sandbox: sandbox.description, world, link };
}

async function credentialsOf(service: RunningService): Promise<{ credential: string; state: string }[]> {
  return (await service.status()).credentials;
}

/** Every answer of the token endpoint to a refresh, and how many tokens it gave to the user. */
async function refreshes(sandbox: { control: string }) {
  const lines = await controlLines(sandbox as Parameters<typeof controlLines>[0], '/ledger?kind=request,answer');
  const asked = new Set(
    lines
      .filter(({ kind, body }) => kind === 'request' && body?.includes('grant_type=refresh_token'))
      .map(({ seq }) => seq),
  );
  return lines.filter(({ kind, request }) => kind === 'answer' && asked.has(request)).map(({ status }) => status);
}

describe('a service that has nothing but a linked login', () => {
  it('follows its accounts without a restart, through rotations of its tokens, in two processes, and loses nothing', async () => {
    const { sandbox, world, link } = await linkedWorld();
    const [first, second] = [await world.serve(), await world.serve()];
    await first.adminAddress();
    expect(await credentialsOf(first)).toEqual([]);
    expect(await link()).toContain('SIM-1001, SIM-1002');
    const holder = await eventually(
      async () => {
        for (const service of [first, second]) if ((await service.status()).accounts.length > 0) return service;
        throw new Error('nobody follows the accounts yet');
      },
      { deadlineMs: 120_000, everyMs: 100 },
    );
    await holder.waitLive();
    // Both processes use the one refresh token, by turns: were two ever
    // under way, the second would end the family.
    await eventually(
      async () => {
        const statuses = await refreshes(sandbox);
        if (statuses.length < 3) throw new Error(`${statuses.length} refreshes so far`);
      },
      { deadlineMs: 120_000, everyMs: 500 },
    );
    for (const service of [first, second])
      expect(await credentialsOf(service)).toMatchObject([{ credential: 'login:default', state: 'held' }]);
    // A crash in the middle: the other one goes on, with what the store has.
    await holder.kill9();
    const heir = holder === first ? second : first;
    await heir.waitLive();
    const before = (await refreshes(sandbox)).length;
    await eventually(
      async () => {
        if ((await refreshes(sandbox)).length <= before) throw new Error('no refresh since');
      },
      { deadlineMs: 120_000, everyMs: 500 },
    );
    expect(new Set(await refreshes(sandbox))).toEqual(new Set([200]));
    await control(sandbox, '/rate', { rate: 0 });
    const proof = await world.resolvedProof(sandbox);
    expect(proof).toMatchObject(nothingWrong);
    expect(proof.consumed).toBeGreaterThan(100);
    expect(await heir.stop()).toBe(0);
  });

  it('says LOGIN_REQUIRED where people and alerts look, and goes on once the user has signed in again', async () => {
    const { sandbox, world, link } = await linkedWorld();
    const service = await world.serve();
    await link();
    await eventually(async () => expect((await service.status()).accounts.length).toBeGreaterThan(0), {
      deadlineMs: 120_000,
    });
    await service.waitLive();
    await control(sandbox, '/end-logins', {});
    await service.waitMetric('tidemark_credentials', { state: 'login_required' }, 1);
    expect(await credentialsOf(service)).toMatchObject([{ credential: 'login:default', state: 'login_required' }]);
    const health = await (await fetch(`${await service.adminAddress()}/readyz?verbose`)).json();
    expect(JSON.stringify(health)).toContain('LOGIN_REQUIRED for login:default');
    await link();
    await service.waitMetric('tidemark_credentials', { state: 'held' }, 1);
    await service.waitLive();
    await control(sandbox, '/rate', { rate: 0 });
    expect(await world.resolvedProof(sandbox)).toMatchObject(nothingWrong);
    expect(await service.stop()).toBe(0);
  });
});

describe('a service with a client of its own and logins beside it', () => {
  it('follows each account once, whoever sees it, and leaves those of a login that was removed', async () => {
    const { sandbox, port } = await linkedSandbox({ market: { rate: 30 } });
    const { description } = sandbox;
    const env = { TIDEMARK_ENCRYPTION_KEY: randomBytes(32).toString('base64') };
    const world = await World.create({ platform: platformSettings(description), env });
    const settings = { DATABASE_URL: world.databaseUrl, ...platformSettings(description), ...env };
    const service = await world.serve();
    const followed = (wanted: Record<string, string>) =>
      eventually(
        async () => {
          const rows: { account: string; credential: string; state: string }[] = (await service.status()).accounts;
          // An account has a row for each stream.
          expect(new Set(rows.map(({ account, credential }) => `${account} ${credential}`))).toEqual(
            new Set(Object.entries(wanted).map((pair) => pair.join(' '))),
          );
          expect(rows).toHaveLength(2 * Object.keys(wanted).length);
        },
        { deadlineMs: 120_000, everyMs: 200 },
      );
    const own = { 'SIM-1001': 'client', 'SIM-1002': 'client' };
    await followed(own);
    expect(await linkAs(alice, settings, port, 'alice')).toContain('SIM-1001');
    await service.waitMetric('tidemark_credentials', { state: 'held' }, 2);
    expect(await linkAs(bob, settings, port, 'bob', '246810')).toContain('SIM-1003');
    await followed({ ...own, 'SIM-1003': 'login:bob' });
    await service.waitLive();
    const io = cliIo(settings);
    await runProgram(io, ['link', '--remove', 'bob']);
    expect(io.code()).toBe(0);
    await followed(own);
    await control(description, '/rate', { rate: 0 });
    expect(await world.resolvedProof(description)).toMatchObject(nothingWrong);
    expect(await service.stop()).toBe(0);
  });
});
