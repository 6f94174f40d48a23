import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load-config.ts';
import type { OptionName } from '../../src/config/option-table.ts';

const noFile = (): string => {
  throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
};

function faultsOf(
  env: Record<string, string>,
  needed: readonly OptionName[] = [],
  readFile: (path: string) => string = noFile,
): string[] {
  const result = loadConfig(env, readFile, needed);
  return result.ok ? [] : result.faults.map(({ name, problem }) => `${name} ${problem}`);
}

function configOf(env: Record<string, string>, readFile: (path: string) => string = noFile) {
  const result = loadConfig(env, readFile);
  if (!result.ok) throw new Error(JSON.stringify(result.faults));
  return result;
}

describe('the configuration', () => {
  it('is whole, typed and frozen without any variable', () => {
    const { config } = configOf({});
    expect(config).toMatchObject({
      adminPort: 9464,
      logLevel: 'info',
      streamPingMs: 5000,
      environment: 'development',
      topicPrefix: '',
      commands: 'off',
      httpHost: '127.0.0.1',
    });
    expect('platformUrl' in config).toBe(false);
    expect(Object.isFrozen(config)).toBe(true);
  });

  it('takes a value from its variable, without the blanks around it', () => {
    const { config } = configOf({
      TIDEMARK_ADMIN_PORT: ' 9000 ',
      TIDEMARK_LOG_LEVEL: 'WARN',
      PLATFORM_ACCOUNTS: 'A-1, A-2',
    });
    expect(config).toMatchObject({ adminPort: 9000, logLevel: 'warn', platformAccounts: ['A-1', 'A-2'] });
  });

  it('drops the slash at the end of a base, so that paths can be appended, and keeps that of a whole address', () => {
    expect(configOf({ PLATFORM_URL: 'https://platform.example/' }).config.platformUrl).toBe('https://platform.example');
    const stream = 'wss://platform.example/stream/';
    expect(configOf({ PLATFORM_STREAM_URL: stream }).config.platformStreamUrl).toBe(stream);
  });

  it('tells all faults at once', () => {
    const faults = faultsOf({ TIDEMARK_ADMIN_PORT: '70000', TIDEMARK_LOG_LEVEL: 'loud', PLATFORM_CLIENT_SECRET: ' ' }, [
      'databaseUrl',
      'platformUrl',
    ]);
    expect(faults.map((line) => line.split(' ')[0])).toEqual([
      'TIDEMARK_LOG_LEVEL',
      'TIDEMARK_ADMIN_PORT',
      'DATABASE_URL',
      'PLATFORM_URL',
      'PLATFORM_CLIENT_SECRET',
    ]);
  });

  it.each([
    ['a blank secret', { PLATFORM_CLIENT_SECRET: '  ' }, /^PLATFORM_CLIENT_SECRET is set but blank/],
    [
      'a blank list, which would follow every account',
      { PLATFORM_ACCOUNTS: '' },
      /^PLATFORM_ACCOUNTS is set but blank/,
    ],
    ['port 70000', { TIDEMARK_ADMIN_PORT: '70000' }, /^TIDEMARK_ADMIN_PORT must be from 0 to 65535; it is 70000$/],
    [
      'a time with its unit',
      { TIDEMARK_STREAM_ACK_MS: '5s' },
      /^TIDEMARK_STREAM_ACK_MS must be a whole number of milliseconds, digits only; "5s" is not one$/,
    ],
    [
      'a number with a sign, a point or an exponent',
      { TIDEMARK_WEIGHT: '+1' },
      /^TIDEMARK_WEIGHT must be a whole number/,
    ],
    ['a number with a leading zero', { TIDEMARK_WEIGHT: '01' }, /^TIDEMARK_WEIGHT must be a whole number/],
    [
      'a slip in our own names',
      { TIDEMARK_ADMIN_PROT: '1' },
      /^TIDEMARK_ADMIN_PROT is not an option; did you mean TIDEMARK_ADMIN_PORT\?$/,
    ],
    ['a slip that would follow every account', { PLATFORM_ACOUNTS: 'A-1' }, /did you mean PLATFORM_ACCOUNTS\?$/],
    [
      'account ids given twice',
      { PLATFORM_ACCOUNTS: 'A-1,A-2,A-1' },
      /^PLATFORM_ACCOUNTS names the same thing twice: item 3 of 3/,
    ],
    [
      'an empty item in a list',
      { PLATFORM_ACCOUNTS: 'A-1,,A-2' },
      /^PLATFORM_ACCOUNTS must be account ids.*item 2 of 3 is not$/,
    ],
    ['a broker without a port', { KAFKA_BROKERS: 'broker' }, /^KAFKA_BROKERS must be host:port/],
    ['a broker with port 65536', { KAFKA_BROKERS: 'broker:65536' }, /^KAFKA_BROKERS must be host:port/],
    [
      'a ping interval above the idle timeout',
      { TIDEMARK_STREAM_PING_MS: '20000' },
      /^TIDEMARK_STREAM_PING_MS \(20000\) must be below TIDEMARK_STREAM_IDLE_MS \(10000\)/,
    ],
    [
      'a margin as long as the lease',
      { TIDEMARK_LEASE_MARGIN_MS: '6000' },
      /^TIDEMARK_LEASE_MARGIN_MS \(6000\) must be below TIDEMARK_LEASE_TTL_MS/,
    ],
    [
      'a lease that is renewed only after its holder has stopped to send',
      { TIDEMARK_LEASE_MARGIN_MS: '4000' },
      /^TIDEMARK_LEASE_RENEW_MS \(2000\) must be below TIDEMARK_LEASE_TTL_MS less TIDEMARK_LEASE_MARGIN_MS \(2000\)/,
    ],
    [
      'the former name of a setting',
      { TIDEMARK_LEASE_EXPIRE_MS: '6000' },
      /^TIDEMARK_LEASE_EXPIRE_MS is not an option any more: it is now TIDEMARK_LEASE_TTL_MS$/,
    ],
    [
      'half of a SASL sign-in',
      { KAFKA_SASL_USERNAME: 'u' },
      /^KAFKA_SASL_USERNAME needs KAFKA_SASL_MECHANISM as well$/,
    ],
    [
      'REST beyond this machine without anybody having to sign in',
      { TIDEMARK_HTTP_HOST: '0.0.0.0' },
      /^TIDEMARK_HTTP_HOST \(0\.0\.0\.0\) is not loopback.*set TIDEMARK_AUTH_PRINCIPALS=on \(tokens by `tidemark token add`\), TIDEMARK_AUTH_TOKENS or TIDEMARK_AUTH_ISSUER/,
    ],
    [
      'a "Break it" on another machine',
      { TIDEMARK_CONSOLE_DEMO_URL: 'http://10.0.0.7:9000' },
      /^TIDEMARK_CONSOLE_DEMO_URL is for the demo: it must be a loopback address, of a service without sign-in$/,
    ],
    [
      'a "Break it" of a service with sign-in',
      { TIDEMARK_CONSOLE_DEMO_URL: 'http://127.0.0.1:9000', TIDEMARK_AUTH_PRINCIPALS: 'on' },
      /^TIDEMARK_CONSOLE_DEMO_URL is for the demo/,
    ],
    [
      'a second principal where there is only one',
      { TIDEMARK_FOUR_EYES: 'on' },
      /^TIDEMARK_FOUR_EYES \(on\) needs sign-in: without TIDEMARK_AUTH_ISSUER, TIDEMARK_AUTH_TOKENS or TIDEMARK_AUTH_PRINCIPALS there is one principal$/,
    ],
    [
      'an audience without an issuer',
      { TIDEMARK_AUTH_AUDIENCE: 'tidemark' },
      /^TIDEMARK_AUTH_AUDIENCE needs TIDEMARK_AUTH_ISSUER/,
    ],
    [
      'a console that is known to no issuer',
      { TIDEMARK_CONSOLE_CLIENT_ID: 'console' },
      /^TIDEMARK_CONSOLE_CLIENT_ID needs TIDEMARK_AUTH_ISSUER/,
    ],
    [
      'a JWT signed with a shared secret',
      { TIDEMARK_AUTH_ALGORITHMS: 'RS256,HS256' },
      /^TIDEMARK_AUTH_ALGORITHMS .*item 2 of 2/,
    ],
    [
      'a JWT without a signature',
      { TIDEMARK_AUTH_ALGORITHMS: 'none' },
      /^TIDEMARK_AUTH_ALGORITHMS must be algorithms with a public key/,
    ],
    [
      'a token in place of its hash',
      { TIDEMARK_AUTH_TOKENS: 'risk:opensesame:orders:read:*' },
      /^TIDEMARK_AUTH_TOKENS must be name:sha256:scopes:accounts.*entry 1 of 1 is not$/,
    ],
    [
      'a blank list of accounts that may be traded',
      { TIDEMARK_COMMAND_ACCOUNTS: '' },
      /^TIDEMARK_COMMAND_ACCOUNTS is set but blank/,
    ],
    [
      'commands that are neither on nor off',
      { TIDEMARK_COMMANDS: 'yes' },
      /^TIDEMARK_COMMANDS must be one of off, on; "yes" is not one$/,
    ],
    [
      'an account that may leave more open than the service',
      { TIDEMARK_HALT_UNRESOLVED_ACCOUNT: '11' },
      /^TIDEMARK_HALT_UNRESOLVED_ACCOUNT \(11\) must not be above TIDEMARK_HALT_UNRESOLVED_SERVICE \(10\)/,
    ],
    [
      'a short encryption key',
      { TIDEMARK_ENCRYPTION_KEY: 'c2hvcnQ=' },
      /^TIDEMARK_ENCRYPTION_KEY must be 32 bytes in base64/,
    ],
    [
      'an address of another scheme',
      { PLATFORM_URL: 'ftp://platform.example' },
      /^PLATFORM_URL must be a whole address that begins with https:\/\/ or http:\/\/$/,
    ],
    ['an address without a scheme', { PLATFORM_URL: 'platform.example:443' }, /^PLATFORM_URL must be a whole address/],
    [
      'a database address with several hosts',
      { DATABASE_URL: 'postgres://app:c4n,ary@db1:5432,db2:5432/tidemark?target_session_attrs=read-write' },
      /^DATABASE_URL must name one host: a list of hosts is not supported/,
    ],
    [
      'several hosts in its query',
      { DATABASE_URL: 'postgres:///tidemark?host=db1,db2' },
      /^DATABASE_URL must name one host/,
    ],
    [
      'a database address that asks for a standby',
      { DATABASE_URL: 'postgres://db/tidemark?target_session_attrs=prefer-standby' },
      /^DATABASE_URL must not ask for a server that takes no writes/,
    ],
    ['a database address that is none', { DATABASE_URL: 'localhost' }, /^DATABASE_URL must be a whole address/],
  ])('refuses %s', (_name, env, expected) => {
    const faults = faultsOf(env);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(expected);
  });

  it('never prints what a wrong secret or address holds', () => {
    const canary = 'c4n4ry-5ecret';
    const faults = faultsOf({
      PLATFORM_URL: `https://user:${canary}@platform.example`,
      DATABASE_URL: canary,
      TIDEMARK_ENCRYPTION_KEY: canary,
      TIDEMARK_ADMIN_PORT: canary,
      KAFKA_BROKERS: canary,
      KAFKA_SASL_PASSWORD_FILE: canary,
    });
    expect(faults).toHaveLength(6);
    expect(faults.join('\n')).not.toContain(canary);
  });

  it('warns about an unknown name of ours that is no slip, and leaves names of other programs alone', () => {
    const { warnings } = configOf({
      TIDEMARK_FOO: '1',
      TIDEMARK_FROM_A_LATER_VERSION: '1',
      TIDEMARK_ADMIN_PORT_NUMBER: '1',
      KAFKA_HEAP_OPTS: '-Xmx1g',
      PATH: '/bin',
    });
    expect(warnings).toEqual([
      'TIDEMARK_ADMIN_PORT_NUMBER is not an option and has no effect; did you mean TIDEMARK_ADMIN_PORT?',
      'TIDEMARK_FOO is not an option and has no effect',
      'TIDEMARK_FROM_A_LATER_VERSION is not an option and has no effect',
    ]);
  });

  it.each([
    ['TIDEMARK_COMMAND_ENABLED', 'TIDEMARK_COMMANDS'],
    ['TIDEMARK_ENABLE_COMMANDS', 'TIDEMARK_COMMANDS'],
    ['TIDEMARK_MAX_COMMAND_RATE', 'TIDEMARK_COMMAND_RATE'],
  ])('for %s names %s, whose words stand in it', (name, meant) => {
    expect(configOf({ [name]: 'on' }).warnings).toEqual([
      `${name} is not an option and has no effect; did you mean ${meant}?`,
    ]);
  });

  it('warns about names of OpenTelemetry that are not read, and not about those that the exporter reads', () => {
    const { warnings } = configOf({
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://localhost:4318/v1/traces',
      OTEL_EXPORTER_OTLP_CERTIFICATE: '/etc/ca.pem',
      OTEL_SERVICE_NAME: 'desk',
      OTEL_TRACES_EXPORTER: 'otlp',
    });
    expect(warnings).toEqual(
      ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_TRACES_EXPORTER'].map(
        (name) => `${name} is not read here and has no effect: docs/tracing.md has the settings of traces`,
      ),
    );
  });
});

describe('in production', () => {
  const production = { NODE_ENV: 'production' };

  it.each([
    ['PLATFORM_URL', 'http://platform.example'],
    ['PLATFORM_STAGING_URL', 'http://127.0.0.1.example.com'],
    ['PLATFORM_AUTH_URL', 'http://10.0.0.1'],
    ['PLATFORM_STREAM_URL', 'ws://platform.example/v1/stream'],
    ['PLATFORM_STAGING_STREAM_URL', 'ws://localhost.example.com/v1/stream'],
    ['TIDEMARK_URL', 'http://tidemark.example'],
  ])('%s may not be %s', (name, address) => {
    expect(faultsOf({ ...production, [name]: address })).toEqual([
      expect.stringMatching(new RegExp(`^${name} must begin with (https|wss)://`)),
    ]);
    expect(faultsOf({ [name]: address })).toEqual([]);
  });

  it.each(['http://127.0.0.1:9000', 'http://localhost:9000', 'http://[::1]:9000', 'https://platform.example'])(
    '%s will do',
    (address) => {
      expect(faultsOf({ ...production, PLATFORM_URL: address })).toEqual([]);
    },
  );

  it('keys and issuer of sign-ins may not be read unencrypted', () => {
    const auth = {
      TIDEMARK_AUTH_ISSUER: 'http://id.example',
      TIDEMARK_AUTH_JWKS_URL: 'http://id.example/jwks',
      TIDEMARK_AUTH_AUDIENCE: 'us',
    };
    expect(faultsOf({ ...production, ...auth })).toEqual([
      expect.stringMatching(/^TIDEMARK_AUTH_ISSUER must begin with https/),
      expect.stringMatching(/^TIDEMARK_AUTH_JWKS_URL must begin with https/),
    ]);
    expect(faultsOf(auth)).toEqual([]);
  });

  it('TLS has to be verified', () => {
    const unverified = { NODE_TLS_REJECT_UNAUTHORIZED: '0' };
    expect(faultsOf({ ...production, ...unverified })).toEqual([
      expect.stringMatching(/^NODE_TLS_REJECT_UNAUTHORIZED must not be 0 in production/),
    ]);
    expect(faultsOf(unverified)).toEqual([]);
  });
});

describe('a secret', () => {
  it('is read from the file that its _FILE variable names, without the newline at its end', () => {
    const { config, effective } = configOf(
      { PLATFORM_CLIENT_SECRET_FILE: '/run/secrets/client' },
      (path) => `from ${path}\n`,
    );
    expect(config.platformClientSecret?.reveal()).toBe('from /run/secrets/client');
    expect(effective.find(({ env }) => env === 'PLATFORM_CLIENT_SECRET')).toMatchObject({
      source: 'file',
      shown: '[redacted]',
    });
  });

  it('may not be given twice', () => {
    const env = { PLATFORM_CLIENT_SECRET: 'a', PLATFORM_CLIENT_SECRET_FILE: '/b' };
    expect(faultsOf(env)).toEqual([
      'PLATFORM_CLIENT_SECRET is set twice: here and by PLATFORM_CLIENT_SECRET_FILE; keep one',
    ]);
  });

  it('may not be in a file that is missing or blank', () => {
    expect(faultsOf({ PLATFORM_CLIENT_SECRET_FILE: '/none' })).toEqual([
      "PLATFORM_CLIENT_SECRET_FILE names a file that can't be read, /none: there is no such file",
    ]);
    expect(faultsOf({ PLATFORM_CLIENT_SECRET_FILE: '/blank' }, [], () => ' \n')).toEqual([
      'PLATFORM_CLIENT_SECRET_FILE names a file that is blank',
    ]);
  });

  it('is masked wherever the configuration is printed', () => {
    const { config, effective } = configOf({
      DATABASE_URL: 'postgres://app:hunter2@db:5432/tidemark?password=hunter2',
      PLATFORM_CLIENT_SECRET: 'hunter2',
    });
    expect(JSON.stringify([config, effective])).not.toContain('hunter2');
    expect(effective.find(({ env }) => env === 'DATABASE_URL')?.shown).toBe(
      'postgres://app:[redacted]@db:5432/tidemark?[redacted]',
    );
  });
});

describe('issue: With the address that Alpaca shows on its page, each request was answered with 404.', () => {
  it('an address with a version is refused, and why', () => {
    expect(faultsOf({ ALPACA_URL: 'https://paper-api.alpaca.markets/v2/' })).toEqual([
      'ALPACA_URL must not end with /v2, as Alpaca shows it: it is the base of the API without a version',
    ]);
    expect(faultsOf({ ALPACA_URL: 'https://paper-api.alpaca.markets/' })).toEqual([]);
  });

  it('so is that of the other environment', () => {
    const problem = 'names the host paper-api.alpaca.markets, and is for live, since ALPACA_ENVIRONMENT is live';
    expect(faultsOf({ ALPACA_ENVIRONMENT: 'live', ALPACA_URL: 'https://paper-api.alpaca.markets' })).toEqual([
      `ALPACA_URL ${problem}: their keys and orders are not the same`,
    ]);
  });
});
