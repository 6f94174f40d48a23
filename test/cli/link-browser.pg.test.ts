import { randomBytes } from 'node:crypto';
import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { linkedSandbox } from '../support/platform/linked-sandbox.ts';
import { cliIo } from '../support/rest/cli-io.ts';
import { eventually } from '../support/runs/poll.ts';
import { openPage } from '../support/servers/browser.ts';
import { freshDatabase } from '../support/servers/database.ts';

/** `tidemark link`, up to the address that it prints. */
async function waitingLink() {
  const { sandbox, port } = await linkedSandbox();
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  const io = cliIo({
    DATABASE_URL: database.url,
    TIDEMARK_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    PLATFORM_URL: sandbox.description.platform,
    PLATFORM_AUTH_URL: sandbox.description.auth,
    PLATFORM_CLIENT_ID: sandbox.description.clientId,
    PLATFORM_CLIENT_SECRET: sandbox.description.clientSecret,
  });
  const run = runProgram(io, ['link', '--no-open', '--redirect-port', String(port), '--json']);
  const address = await eventually(() => {
    const found = /http:\S+\/oauth2\/authorize\?\S+/.exec(io.err())?.[0];
    if (found === undefined) throw new Error(io.err());
    return found;
  });
  return { io, run, address };
}

async function signIn(page: Page, username: string, password: string): Promise<void> {
  await page.getByLabel('User name').fill(username);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in and allow' }).click();
}

describe.each([
  ['with script', true],
  ['without script', false],
])('the sign-in screen in Chromium, %s', (_how, script) => {
  it('signs a user in for tidemark link, after a wrong password', async () => {
    const { io, run, address } = await waitingLink();
    const page = await openPage({ script });
    const complaints: string[] = [];
    page.on('console', (message) => complaints.push(message.text()));
    await page.goto(address);
    expect(await page.getByRole('listitem').allTextContents()).toContain('order:information');
    await signIn(page, 'alice', 'wrong');
    expect(await page.getByRole('alert').textContent()).toBe('Wrong user name or password');
    await signIn(page, 'alice', 'sandbox-alice');
    await page.getByText('You are signed in').waitFor();
    await run;
    expect(JSON.parse(io.out())).toEqual({ name: 'default', accounts: ['SIM-1001', 'SIM-1002'] });
    // A content security policy that kept the redirect back would show here.
    expect(complaints.filter((text) => /content security policy/i.test(text))).toEqual([]);
  });

  it('takes a user with MFA through the code and the consent', async () => {
    const { io, run, address } = await waitingLink();
    const page = await openPage({ script });
    await page.goto(address);
    await signIn(page, 'bob', 'sandbox-bob');
    await page.getByLabel('6-digit code').fill('111111');
    await page.getByRole('button', { name: 'Verify' }).click();
    expect(await page.getByRole('alert').textContent()).toBe('Wrong verification code');
    await page.getByLabel('6-digit code').fill('246810');
    await page.getByRole('button', { name: 'Verify' }).click();
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByText('You are signed in').waitFor();
    await run;
    expect(JSON.parse(io.out())).toEqual({ name: 'default', accounts: ['SIM-1003'] });
  });

  it('lets a user say no', async () => {
    const { io, run, address } = await waitingLink();
    const page = await openPage({ script });
    await page.goto(address);
    await page.getByRole('button', { name: 'Deny' }).click();
    await page.getByText('did not succeed').waitFor();
    await run;
    expect([io.code(), io.err().includes('access_denied')]).toEqual([1, true]);
  });
});
