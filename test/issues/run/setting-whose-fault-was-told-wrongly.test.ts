// What a user saw: A number of 20 digits "must be a whole number", an https address "must begin with https".

import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/load-config.ts';
import type { Option } from '../../../src/config/option.ts';
import { optionTable } from '../../../src/config/option-table.ts';

const noFile = (): string => {
  throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
};

function said(env: Record<string, string>, readFile: (path: string) => string = noFile): string[] {
  const loaded = loadConfig(env, readFile);
  return loaded.ok ? [] : loaded.faults.map(({ name, problem }) => `${name} ${problem}`);
}

describe('the sentence of a wrong value is true, and names what was seen', () => {
  it.each<[string, string, RegExp]>([
    [
      'TIDEMARK_STREAM_ACK_MS',
      '99999999999999999999',
      /^\S+ must be from 100 to 3600000 milliseconds; it has 20 digits$/,
    ],
    ['TIDEMARK_STREAM_ACK_MS', '007', /a whole number of milliseconds without a zero before it; "007" is not one$/],
    ['TIDEMARK_STREAM_ACK_MS', '10 s', /digits only; "10 s" is not one$/],
    ['TIDEMARK_STREAM_ACK_MS', '10 seconds', /digits only; "10 seconds" is not one$/],
    ['TIDEMARK_STREAM_ACK_MS', '1,000', /digits only; "1,000" is not one$/],
    ['TIDEMARK_STREAM_ACK_MS', '1e3', /digits only; "1e3" is not one$/],
    ['TIDEMARK_STREAM_ACK_MS', '-5', /digits only; "-5" is not one$/],
    ['TIDEMARK_STREAM_ACK_MS', '0', /must be from 100 to 3600000 milliseconds; it is 0$/],
    [
      'PLATFORM_URL',
      'https://platform.example:70000',
      /^PLATFORM_URL can't be read behind its scheme: a port is a number/,
    ],
    ['PLATFORM_URL', 'https://::1:8443', /an IPv6 address stands in brackets/],
    ['PLATFORM_URL', 'https://platform.example:0', /must not have the port 0/],
    ['PLATFORM_URL', 'platform.example', /begins with https:\/\/ or http:\/\/; it has no :\/\/$/],
    ['PLATFORM_STREAM_URL', 'https://platform.example', /begins with wss:\/\/ or ws:\/\/; it begins with https:\/\/$/],
    ['DATABASE_URL', 'postgres://app:4c/n4ry@db/tidemark', /can't be read behind its scheme: .*%2F for \/\)$/],
    ['DATABASE_URL', 'postgres://app:c4n4ry@db:70000/tidemark', /a port is a number from 1 to 65535/],
    ['DATABASE_URL', 'postgres://app:c4n4ry%@db/tidemark', /bare % in its user or password: write %25/],
    ['DATABASE_URL', 'mysql://app:c4n4ry@db/tidemark', /begins with postgres:\/\/ or postgresql:\/\/$/],
    ['PLATFORM_ACCOUNTS', '["A-1","A-2"]', /is written as JSON: leave the brackets and quotation marks out$/],
    ['PLATFORM_ACCOUNTS', '[]', /is written as JSON/],
    ['KAFKA_BROKERS', '[ "b:9092" ]', /is written as JSON/],
    ['KAFKA_BROKERS', '::1:9092', /an IPv6 address in brackets/],
    ['PLATFORM_CLIENT_SECRET', 'c4n4ry\nand more', /must be one line$/],
  ])('%s=%s', (name, value, expected) => {
    const lines = said({ [name]: value });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(expected);
    expect(lines[0]).not.toMatch(/c4n4ry/);
  });

  it('brackets of an address are no JSON', () => {
    expect(said({ KAFKA_BROKERS: '[::1]:9092,[::2]:9092', TIDEMARK_ADMIN_NAMES: '[::1]' })).toEqual([]);
  });
});

describe('a file with a secret', () => {
  const fromFile = (text: string) => said({ PLATFORM_CLIENT_SECRET_FILE: '/run/s' }, () => text);

  it.each(['\ufeffhush\r\n', 'hush\r\n', '  hush  '])('may have a mark or line ends around it: %j', (text) => {
    expect(fromFile(text)).toEqual([]);
  });

  it.each<[string, RegExp]>([
    [
      Buffer.from('\ufeffhush', 'utf16le').toString('utf8'),
      /^PLATFORM_CLIENT_SECRET_FILE names a file that is not text in UTF-8$/,
    ],
    ['', /names a file that is blank$/],
    ['\ufeff\r\n', /names a file that is blank$/],
    ['hush\nhash', /must be one line$/],
  ])('is refused where it holds something else: %j', (text, expected) => {
    expect(fromFile(text)).toEqual([expect.stringMatching(expected)]);
  });
});

/** What people write by mistake, and what may not be shown where it is a secret. */
const wrongValues = [
  ...['-1', '0', '1e3', '0x10', '٣', ' ', '10 s', '99999999999999999999', 'NaN', 'Infinity', 'null', 'undefined', '{}'],
  ...[
    '[]',
    '["a"]',
    'true',
    'yes',
    'https://',
    'https://u:c4n4ry@h',
    'https://h:0',
    'https://h:70000',
    'https://h/?c4n4ry',
  ],
  ...['https://::1', 'h:1', '/etc', 'postgres://u:c4n4ry@h:x/d', 'postgres://', 'a,,b', 'a\u0000b', '\u202e', '😀'],
  'c4n4ry/5ecret+of=another-variable',
];

it('each setting with each wrong value is taken, or refused in a sentence without the value of a secret', () => {
  const sentences: string[] = [];
  for (const { env, secret } of Object.values<Option<unknown>>(optionTable))
    for (const value of wrongValues)
      for (const [name, given] of [[env, value], ...(secret ? [[`${env}_FILE`, '/run/s']] : [])] as const) {
        const lines = said({ [name]: given }, () => value);
        for (const line of lines) {
          expect(line, `${name}=${value}`).toMatch(/^[A-Z_]+ (must|can't|is|has|needs|names|\()/);
          expect(line, `${name}=${value}`).not.toMatch(/c4n4ry|undefined |\[object|\n/);
        }
        sentences.push(...lines);
      }
  expect(new Set(sentences).size).toBeGreaterThan(100);
});
