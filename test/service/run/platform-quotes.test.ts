import { describe, expect, it } from 'vitest';
import { PlatformQuotes } from '../../../src/service/run/platform-quotes.ts';
import type { TokenSource } from '../../../src/venue/tokens.ts';
import { listedOption } from '../../support/platform/listed-option.ts';
import { platformDeps } from '../../support/platform/platform-deps.ts';
import { runningSandbox } from '../../support/platform/sandbox.ts';
import { silentLog } from '../../support/runs/silent-log.ts';

async function quotes() {
  const { description } = await runningSandbox({});
  const { tokens, ...deps } = platformDeps(description.platform, description);
  const asked: string[] = [];
  const tokensFor = (accountId: string): TokenSource | undefined => {
    asked.push(accountId);
    return accountId === 'gone' ? undefined : tokens;
  };
  const port = new PlatformQuotes(
    { ...deps, log: silentLog, accounts: { tokensFor } },
    { platformUrl: description.platform },
  );
  return { port, asked };
}

describe('the quotes of the platform', () => {
  it('are the last price of an equity, read once for a burst', async () => {
    const { port, asked } = await quotes();
    const [first, second] = await Promise.all(
      [1, 2].map(() => port.lastQuote('SIM-1001', { kind: 'equity', symbol: 'F' })),
    );
    expect([first?.price, second?.price]).toEqual(['11.08', '11.08']);
    expect(asked).toEqual(['SIM-1001']);
  });

  it('are the middle of bid and ask of an option, with their age', async () => {
    const { port } = await quotes();
    const quote = await port.lastQuote('SIM-1001', { kind: 'option', symbol: listedOption('C', 200) });
    expect(quote?.price).toMatch(/^\d+(\.\d+)?$/);
    expect(Number(quote?.ask)).toBeGreaterThan(Number(quote?.price));
    expect(quote?.ageMs).toBeGreaterThanOrEqual(0);
  });

  it('are none of what the platform does not know, and none without a credential', async () => {
    const { port } = await quotes();
    expect(await port.lastQuote('SIM-1001', { kind: 'equity', symbol: 'GONE' })).toBeUndefined();
    expect(await port.lastQuote('gone', { kind: 'equity', symbol: 'KO' })).toBeUndefined();
  });
});
