import { expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load-config.ts';
import { alpacaAddresses, venuesNeed } from '../../src/config/venue-options.ts';

function addresses(env: Readonly<Record<string, string>>) {
  const loaded = loadConfig({ VENUES: 'alpaca', ...env }, () => '');
  if (!loaded.ok) throw new Error(loaded.faults.map(({ name, problem }) => `${name} ${problem}`).join());
  return (['paper', 'live'] as const).map((environment) => alpacaAddresses(loaded.config, environment));
}

it('paper and live have an address and a stream of their own each, and the settings name the one for either', () => {
  const [paper, live] = addresses({});
  expect(paper).toMatchObject({ url: 'https://paper-api.alpaca.markets', stream: 'alpaca_paper', isPaper: true });
  expect(live).toMatchObject({ url: 'https://api.alpaca.markets', stream: 'alpaca', isPaper: false });
  const own = { ALPACA_URL: 'https://one.example', ALPACA_STREAM_URL: 'wss://one.example/orders' };
  const both = { ...own, ALPACA_OTHER_URL: 'https://two.example' };
  const one = { url: 'https://one.example', streamUrl: 'wss://one.example/orders' };
  const two = { url: 'https://two.example', streamUrl: 'wss://two.example/stream' };
  expect(addresses(both)).toMatchObject([one, two]);
  expect(addresses({ ...both, ALPACA_ENVIRONMENT: 'live' })).toMatchObject([two, one]);
});

it('the address of the other environment is none of this one', () => {
  const problem =
    'names the host api.alpaca.markets, and is for paper, since ALPACA_ENVIRONMENT is live: their keys and orders are not the same';
  const env = { ALPACA_ENVIRONMENT: 'live', ALPACA_OTHER_URL: 'https://api.alpaca.markets' };
  expect(() => addresses(env)).toThrow(`ALPACA_OTHER_URL ${problem}`);
});

it.each([
  [{}, ['ALPACA_KEY_ID', 'ALPACA_SECRET_KEY']],
  [{ ALPACA_KEY_ID: 'PK1', ALPACA_SECRET_KEY: 's' }, []],
  [{ TIDEMARK_ENCRYPTION_KEY: Buffer.alloc(32).toString('base64') }, []],
  [{ ALPACA_KEY_ID: 'PK1', TIDEMARK_ENCRYPTION_KEY: Buffer.alloc(32).toString('base64') }, ['ALPACA_SECRET_KEY']],
])('with %j a start asks for %j: a whole pair, or a way to read linked ones', (env, lacking) => {
  const loaded = loadConfig({ VENUES: 'alpaca', ...env }, () => '', [], venuesNeed);
  expect(loaded.ok ? [] : loaded.faults.map(({ name }) => name)).toEqual(lacking);
});
