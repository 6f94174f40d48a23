import { expect, expectTypeOf, it, onTestFinished } from 'vitest';
import { createPlatformClient } from '../../../src/venue/platform/platform-client.ts';
import type { Theme as WireTheme } from '../../../src/venue/platform/wire/research.ts';
import type { PlatformError } from '../../../src/venue/platform-error.ts';
import type { Theme } from '../../../types/platform.d.ts';
import { listedOption } from '../../support/platform/listed-option.ts';
import { runningSandbox } from '../../support/platform/sandbox.ts';

async function client(over: { readonly apiKey?: string } = {}) {
  const { description } = await runningSandbox();
  const { platform: baseUrl, clientId, clientSecret } = description;
  const made = createPlatformClient({ baseUrl, clientId, clientSecret, ...over });
  onTestFinished(() => made.close());
  return made;
}

it('reaches every endpoint that it has a method for', async () => {
  const platform = await client({ apiKey: 'sandbox-api-key' });
  expect(await platform.searchSymbols({ query: 'berkshire' })).toMatchObject({
    ok: true,
    value: [{ symbol: 'BRK.B' }],
  });
  expect(await platform.chartQuotes(['KO'])).toMatchObject({ ok: true, value: [{ s: 'KO' }] });
  expect(await platform.previousDay({ ticker: 'KO' })).toMatchObject({ ok: true, value: { results: [{}] } });
  for await (const page of platform.optionsQuotes({ ticker: `O:${listedOption('C', 200)}`, limit: 3 })) {
    expect(page.ok && page.value).toHaveLength(3);
    break;
  }
  expect(await platform.ownership({ symbol: 'KO', limit: 1 })).toMatchObject({ ok: true, value: [{}] });
  expect(await platform.investmentTheme('ai')).toMatchObject({ ok: true });
  expect(await platform.fdaCalendar()).toMatchObject({ ok: true });
  const setting = { category: 'display', key: 'theme' };
  expect(await platform.userSetting(setting)).toEqual({ ok: true, value: 'dark' });
  expect(await platform.deleteUserSettings({ category: 'display', keys: ['theme'] })).toMatchObject({ ok: true });
  expect(await platform.userSetting(setting)).toMatchObject({ ok: false, error: { status: 404 } });
  expect(await platform.changeEmail('new@example.com')).toMatchObject({ ok: true });
  expect(await platform.health()).toMatchObject({ ok: true });
});

it('searches nothing without an API key, and says so', async () => {
  const platform = await client();
  expect(await platform.searchSymbols({ query: 'apple' })).toMatchObject({
    ok: false,
    error: { code: 'API_KEY_REQUIRED', retryable: false, sent: 'no' },
  });
});

it('has the types of errors and themes that the client has', () => {
  expectTypeOf<import('../../../types/platform.d.ts').PlatformError>().toEqualTypeOf<PlatformError>();
  expectTypeOf<Theme>().toEqualTypeOf<WireTheme>();
});
