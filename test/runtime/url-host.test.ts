import { expect, it } from 'vitest';
import {
  askedHost,
  bareHost,
  httpAddress,
  isLoopbackHost,
  splitHostPort,
  urlHost,
} from '../../src/runtime/url-host.ts';

const hosts = [
  // As given, alone, in a URL, whether it is loopback, where a service that listens there is asked.
  ['localhost', 'localhost', 'localhost', true, 'localhost'],
  ['127.0.0.1', '127.0.0.1', '127.0.0.1', true, '127.0.0.1'],
  ['::1', '::1', '[::1]', true, '::1'],
  ['[::1]', '::1', '[::1]', true, '::1'],
  ['0:0:0:0:0:0:0:1', '0:0:0:0:0:0:0:1', '[0:0:0:0:0:0:0:1]', true, '0:0:0:0:0:0:0:1'],
  ['::ffff:127.0.0.1', '::ffff:127.0.0.1', '[::ffff:127.0.0.1]', true, '::ffff:127.0.0.1'],
  ['::', '::', '[::]', false, '::1'],
  ['0:0::0', '0:0::0', '[0:0::0]', false, '::1'],
  ['0.0.0.0', '0.0.0.0', '0.0.0.0', false, '127.0.0.1'],
  ['fd00::7', 'fd00::7', '[fd00::7]', false, 'fd00::7'],
  ['[fd00::7]', 'fd00::7', '[fd00::7]', false, 'fd00::7'],
  ['::ffff:10.0.0.7', '::ffff:10.0.0.7', '[::ffff:10.0.0.7]', false, '::ffff:10.0.0.7'],
  ['tidemark.corp', 'tidemark.corp', 'tidemark.corp', false, 'tidemark.corp'],
  ['localhost.evil.test', 'localhost.evil.test', 'localhost.evil.test', false, 'localhost.evil.test'],
] as const;

it.each(hosts)('the host %s', (given, alone, inUrl, loopback, asked) => {
  expect(bareHost(given)).toBe(alone);
  expect(urlHost(bareHost(given))).toBe(inUrl);
  expect(isLoopbackHost(given)).toBe(loopback);
  expect(askedHost(given)).toBe(asked);
  expect(URL.canParse(httpAddress(given, 9464))).toBe(true);
  expect(new URL(httpAddress(given, 9464)).port).toBe('9464');
  expect(splitHostPort(`${urlHost(alone)}:9092`)).toEqual({ host: alone, port: 9092 });
});

it.each(['::1', '[::1]', 'broker', 'fd00::7'])('%s has no port', (text) => {
  expect(splitHostPort(text)).toEqual({ host: bareHost(text), port: Number.NaN });
});
