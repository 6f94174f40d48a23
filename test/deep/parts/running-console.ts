import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import type { SandboxDescription } from '../../../src/sandbox/describe-sandbox.ts';
import { platformSettings } from '../../../src/sandbox/describe-sandbox.ts';
import { controlLines, runningSandbox } from '../../support/platform/sandbox.ts';
import { launchConsole } from '../../support/rest/console-browser.ts';
import { call } from '../../support/rest/rest-call.ts';
import { type RunningService, World } from '../../support/runs/service-under-test.ts';

/** A service that takes commands, its platform, and a browser. */
export interface RunningConsole {
  readonly world: World;
  readonly service: RunningService;
  readonly rest: string;
  readonly sandbox: SandboxDescription;
  readonly browser: Awaited<ReturnType<typeof launchConsole>>;
  /** Of this browser; undefined where the service asks for none. */
  readonly token?: string;
}

export async function runConsole(): Promise<RunningConsole> {
  const { description: sandbox } = await runningSandbox();
  const world = await World.create({ platform: platformSettings(sandbox), env: { TIDEMARK_COMMANDS: 'on' } });
  const service = await world.serve();
  await service.waitLive();
  return { world, service, sandbox, rest: await service.restAddress(), browser: await launchConsole() };
}

/** What the platform itself says of the orders under the references of a command. */
export async function decisionsOf({ sandbox, service, token }: RunningConsole, commandId: string): Promise<string[]> {
  const { body } = await call(service, 'GET', `/v1/commands/${commandId}`, token === undefined ? {} : { token });
  const ours = new Set(body.attempts.map(({ attemptId }: { attemptId: string }) => attemptId));
  const decisions = await controlLines(sandbox, '/ledger?kind=decision');
  return decisions.filter(({ reference }) => ours.has(reference)).map(({ decision }) => decision);
}

/** Types or chooses, by the labels of the fields. `form`: the part of the page that has them. */
export async function fillTicket(
  form: Pick<Page, 'getByLabel'>,
  fields: Readonly<Record<string, string>>,
): Promise<void> {
  for (const [label, text] of Object.entries(fields)) {
    const field = form.getByLabel(label, { exact: true });
    if ((await field.evaluate(({ tagName }) => tagName)) === 'SELECT') await field.selectOption(text);
    else await field.fill(text);
  }
}

/** The id of the command whose page is shown. */
export async function shownCommand(page: Page): Promise<string> {
  await page.waitForURL(/\/console\/commands\/[0-9a-f-]{36}$/);
  return new URL(page.url()).pathname.split('/').at(-1) ?? '';
}

/** It says the order. */
export const placeButton = (page: Page) => page.locator('.ticket button[type=submit]');

/** Confirms the action of the open dialog by the name of its scope and a reason. */
export async function confirm(page: Page, typed: string, label: string): Promise<void> {
  const button = page.getByRole('button', { name: label, exact: true });
  expect(await button.isDisabled()).toBe(true);
  await page.getByLabel(`Type ${typed} to confirm`).fill(typed);
  await page.getByLabel('Reason, for the record').fill('a drill');
  await button.click();
}
