import type { Page } from 'playwright-core';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/runtime/clock.ts';
import { atEnd, forFile } from '../support/commands/at-end.ts';
import { launchConsole } from '../support/rest/console-browser.ts';
import { expectAccessible } from '../support/rest/expect-accessible.ts';
import { startRest } from '../support/rest/rest-rig.ts';
import { eventually } from '../support/runs/poll.ts';
import { consoleIssuer } from './parts/console-issuer.ts';

/**
 * The clock of the service, which a test may put forward: then
 * tokens are over sooner than the issuer said.
 */
const ahead = { ms: 0 };
const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + ahead.ms };

let issuer: Awaited<ReturnType<typeof consoleIssuer>>;
let rig: Awaited<ReturnType<typeof startRest>>;
let page: Page;

const browser = forFile(async () => {
  issuer = await consoleIssuer({ accounts: ['ACC-1'] });
  atEnd(() => issuer.stop());
  rig = await startRest({
    clock,
    withConsole: { signIn: issuer.signIn },
    auth: { jwt: issuer.jwt },
    stream: { pollEveryMs: 20, pollGapMs: 1 },
  });
  atEnd(() => rig.server.drain(new AbortController().signal));
  await issuer.register(rig.address);
  rig.reads.addUpdate({ orderId: 'mine', accountId: 'ACC-1' });
  rig.reads.addUpdate({ orderId: 'foreign', accountId: 'ACC-2' });
  await eventually(async () =>
    expect(await (await fetch(`${rig.address}/console/sign-in.json`)).json()).toMatchObject({
      issuer: { clientId: 'tidemark-console', metadata: { token_endpoint: `${issuer.url}/token` } },
    }),
  );
  return launchConsole();
});

beforeEach(async () => {
  ahead.ms = 0;
  issuer.state.tokenSeconds = 3600;
  page = await browser().newPage();
  onTestFinished(() => page.context().clearCookies());
});

const rowWith = (text: string) => page.getByRole('row').filter({ hasText: text });
const signInButton = () => page.getByRole('button', { name: `Sign in with ${new URL(issuer.url).host}` });
const stored = () => page.evaluate('JSON.stringify({ ...sessionStorage })').then((text) => JSON.parse(String(text)));
const tokensAsked = () => issuer.asked.filter((path) => path === '/token').length;

async function signIn(path = '/console'): Promise<void> {
  await page.goto(`${rig.address}${path}`);
  await signInButton().click();
  await page.getByRole('button', { name: 'Sign in as erin' }).click();
}

describe('sign-in by the issuer, in Chromium', () => {
  it('brings the reader back to the screen that was asked for, with the accounts of the token and no other', async () => {
    await page.goto(`${rig.address}/console?side=sell`);
    await signInButton().waitFor();
    await expectAccessible(page);
    await signIn('/console?side=buy');
    await rowWith('mine').waitFor();
    expect(page.url()).toBe(`${rig.address}/console?side=buy`);
    expect(await rowWith('foreign').count()).toBe(0);
    await page.goto(`${rig.address}/console/orders/account/foreign`);
    await page.getByText('There is no such order').waitFor();
    expect(Object.keys(await stored()).sort()).toEqual(['tidemark.renewal', 'tidemark.token']);
  });

  it('renews a token that is over, and the stream goes on without a lost row', async () => {
    issuer.state.tokenSeconds = 60;
    await signIn();
    await rowWith('mine').waitFor();
    const before = await stored();
    issuer.state.tokenSeconds = 3600;
    // More than the minute, and the half minute by which clocks may differ.
    ahead.ms = 95_000;
    await eventually(async () => expect((await stored())['tidemark.token']).not.toBe(before['tidemark.token']));
    rig.reads.addUpdate({ orderId: 'later', accountId: 'ACC-1' });
    rig.server.wake();
    await rowWith('later').waitFor();
    await rowWith('mine').waitFor();
    expect((await stored())['tidemark.renewal']).not.toBe(before['tidemark.renewal']);
  });

  it('renews a token before its end', async () => {
    issuer.state.tokenSeconds = 3;
    const before = tokensAsked();
    await signIn();
    await rowWith('mine').waitFor();
    await eventually(() => expect(tokensAsked()).toBeGreaterThan(before + 2));
    await rowWith('mine').waitFor();
  });

  it('asks the issuer again without a question when the refresh token is used up, while the issuer knows the reader', async () => {
    issuer.state.tokenSeconds = 60;
    await signIn('/console?side=buy');
    await rowWith('mine').waitFor();
    const { 'tidemark.token': token, 'tidemark.renewal': renewal } = await stored();
    expect(await issuer.useUp(JSON.parse(renewal).refreshToken)).toBe(200);
    issuer.state.tokenSeconds = 3600;
    ahead.ms = 95_000;
    await eventually(async () => expect((await stored())['tidemark.token']).not.toBe(token));
    await rowWith('mine').waitFor();
    expect(page.url()).toBe(`${rig.address}/console?side=buy`);
  });

  it('says that the sign-in has ended when the issuer does not know the reader any more', async () => {
    issuer.state.tokenSeconds = 60;
    await signIn();
    await rowWith('mine').waitFor();
    await issuer.useUp(JSON.parse((await stored())['tidemark.renewal']).refreshToken);
    await page.context().clearCookies();
    ahead.ms = 95_000;
    await page.getByRole('alert').getByText('Your sign-in has ended').waitFor();
    expect(Object.keys(await stored())).toEqual(['tidemark.asked-quietly']);
  });

  it('forgets everything at sign-out, and ends the refresh token at the issuer', async () => {
    await signIn();
    await rowWith('mine').waitFor();
    const { refreshToken } = JSON.parse((await stored())['tidemark.renewal']);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signInButton().waitFor();
    expect([await stored(), await page.evaluate('document.cookie + localStorage.length')]).toEqual([{}, '0']);
    await eventually(() => expect(issuer.asked).toContain('/token/revocation'));
    await eventually(async () => expect(await issuer.useUp(refreshToken)).toBe(400));
  });

  it('takes no answer that it did not ask for, and says why a sign-in failed', async () => {
    const before = tokensAsked();
    await page.goto(`${rig.address}/console/signed-in?code=stolen&state=made-up`);
    await page.getByRole('alert').getByText('was not begun in this tab').waitFor();
    await signInButton().click();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('alert').getByText('did not allow the sign-in').waitFor();
    await signInButton().click();
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    // The sign-in of this tab is begun, but the answer is another one's.
    await page.goto(`${rig.address}/console/signed-in?code=stolen&state=made-up&iss=${encodeURIComponent(issuer.url)}`);
    await page.getByRole('alert').getByText('does not belong to a sign-in of this tab').waitFor();
    expect(tokensAsked()).toBe(before);
  });
});
