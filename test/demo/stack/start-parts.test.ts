import { describe, expect, it } from 'vitest';
import { inheritedEnv } from '../../../src/demo/stack/start-parts.ts';
import { cliIo } from '../../support/rest/cli-io.ts';

describe('issue: The demo placed its orders at Alpaca with the key pair of its environment.', () => {
  it('gives its parts nothing that would configure them: neither a venue nor a key', () => {
    const given = { VENUES: 'alpaca', ALPACA_KEY_ID: 'AK1', ALPACA_SECRET_KEY: 's', ALPACA_ENVIRONMENT: 'live' };
    expect(inheritedEnv(cliIo({ ...given, PLATFORM_URL: 'https://p', TIDEMARK_COMMANDS: 'on', PATH: '/bin' }))).toEqual(
      {
        PATH: '/bin',
      },
    );
  });
});
