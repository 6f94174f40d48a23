import { expect, it } from 'vitest';
import { Proxies, parseProxy } from '../../src/runtime/proxies.ts';
import { Secret } from '../../src/runtime/secret.ts';

const proxy = new Secret('http://proxy.corp:3128');

function isDirect(noProxy: string, address: string): boolean {
  const proxies = new Proxies({ httpsProxy: proxy, httpProxy: proxy, noProxy: noProxy.split(',') });
  return proxies.proxyFor(new URL(address)) === undefined;
}

it.each([
  ['*', 'https://api.example', true],
  ['example.com', 'https://example.com', true],
  ['example.com', 'https://api.example.com', true],
  ['.example.com', 'https://api.example.com', true],
  ['.example.com', 'https://example.com', true],
  ['*.example.com', 'wss://api.example.com/v1/stream', true],
  ['EXAMPLE.com.', 'https://api.example.COM', true],
  ['example.com', 'https://notexample.com', false],
  ['example.com', 'https://example.com.evil.test', false],
  ['bücher.example', 'https://www.bücher.example', true],
  ['example.com:8443', 'https://example.com:8443', true],
  ['example.com:8443', 'https://example.com', false],
  ['example.com:443', 'https://example.com', true],
  ['example.com:80', 'ws://example.com', true],
  ['10.0.0.7', 'http://10.0.0.7:8080', true],
  ['10.0.0.7:8080', 'http://10.0.0.7:8080', true],
  ['10.0.0.7:8081', 'http://10.0.0.7:8080', false],
  ['10.0.0.0/8', 'https://10.200.3.4', true],
  ['10.0.0.0/8', 'https://11.0.0.1', false],
  ['10.0.0.0/99', 'https://10.0.0.1', false],
  ['0.0.1', 'https://10.0.0.1', false],
  ['fd00::7', 'https://[fd00::7]:8443', true],
  ['FD00:0:0::0007', 'https://[fd00::7]', true],
  ['[fd00::7]', 'https://[fd00::7]', true],
  ['[fd00::7]:8443', 'https://[fd00::7]:8443', true],
  ['[fd00::7]:8443', 'https://[fd00::7]', false],
  ['fd00::/8', 'https://[fdff::1]', true],
  ['fd00::/8', 'https://[fe80::1]', false],
  ['other.example,,%%,/,:80,[,10.0.0.0/', 'https://api.example', false],
] as const)('NO_PROXY=%s and %s: reached without a proxy is %s', (noProxy, address, expected) => {
  expect(isDirect(noProxy, address)).toBe(expected);
});

it.each([
  'http://localhost:1',
  'http://127.0.0.1:1',
  'http://127.8.9.1',
  'http://[::1]:1',
  'http://[0:0::1]',
  'http://[::ffff:127.0.0.1]:1',
])('%s is never sent to a proxy on another machine, and goes to one on this machine', (address) => {
  expect(isDirect('', address)).toBe(true);
  const here = new Proxies({ httpProxy: new Secret('127.0.0.1:3128') });
  expect(here.proxyFor(new URL(address))?.name).toBe('http://127.0.0.1:3128');
});

it('each scheme has its own proxy', () => {
  const secureOnly = new Proxies({ httpsProxy: proxy });
  expect(
    ['https://a.test', 'wss://a.test', 'http://a.test', 'ws://a.test'].map(
      (url) => secureOnly.proxyFor(new URL(url))?.name,
    ),
  ).toEqual(['http://proxy.corp:3128', 'http://proxy.corp:3128', undefined, undefined]);
});

it.each([
  ['proxy.corp:3128', 'http://proxy.corp:3128', undefined],
  ['http://proxy.corp', 'http://proxy.corp:80', undefined],
  ['https://proxy.corp/', 'https://proxy.corp:443', undefined],
  ['http://[::1]:3128', 'http://[::1]:3128', undefined],
  ['http://user:p%40ss%3A@proxy.corp:1', 'http://proxy.corp:1', 'user:p@ss:'],
  ['key@proxy.corp:1', 'http://proxy.corp:1', 'key:'],
] as const)('the address %s of a proxy', (text, name, pair) => {
  const parsed = parseProxy(text);
  expect(parsed?.name).toBe(name);
  const sent = pair === undefined ? undefined : `Basic ${Buffer.from(pair).toString('base64')}`;
  expect(parsed?.authorization?.reveal()).toBe(sent);
});

it.each(['socks5://proxy:1080', 'http://', 'http://proxy:1/path', 'http://proxy:1?x', 'http://%ff@proxy:1', 'a b'])(
  '%s is not the address of a proxy',
  (text) => {
    expect(parseProxy(text)).toBeUndefined();
  },
);
