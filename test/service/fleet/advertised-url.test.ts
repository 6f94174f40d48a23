import { describe, expect, it } from 'vitest';
import { advertisedUrl } from '../../../src/service/fleet/advertised-url.ts';

const machine = { bound: 'http://0.0.0.0:8080', hostname: 'desk-1' };

describe('the address that the other processes get', () => {
  it('is the configured one', () => {
    const advertised = 'https://one.example';
    expect(advertisedUrl({ advertisedUrl: advertised, httpHost: '0.0.0.0' }, machine)).toBe(advertised);
  });

  it.each(['0.0.0.0', '::', '10.0.0.7', 'desk.example'])(
    'has the name of the machine where REST listens on %s',
    (httpHost) => {
      expect(advertisedUrl({ httpHost }, machine)).toBe('http://desk-1:8080');
    },
  );

  it.each(['127.0.0.1', 'localhost', '::1'])('is the one that is bound where REST listens on %s', (httpHost) => {
    expect(advertisedUrl({ httpHost }, { ...machine, bound: 'http://[::1]:41234' })).toBe('http://[::1]:41234');
  });

  it('is not known before REST is bound', () => {
    expect(advertisedUrl({ httpHost: '127.0.0.1' }, { ...machine, bound: undefined })).toBeUndefined();
  });
});
