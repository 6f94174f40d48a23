import { describe, expect, it } from 'vitest';
import { createLogger, type LoggerOptions } from '../../src/observability/logger.ts';
import { ProgramError } from '../../src/runtime/program-error.ts';
import { Secret } from '../../src/runtime/secret.ts';

const canary = 'c4n4ry-5ecret"\\';

function logTo(options: Partial<LoggerOptions> = {}) {
  const lines: string[] = [];
  const log = createLogger(
    { destination: { write: (line) => lines.push(line) } },
    { level: 'info', version: '1.2.3', pretty: false, secrets: [], ...options },
  );
  return { log, lines };
}

describe('the log', () => {
  it('writes one JSON line with service, version, level as a word and time as text', () => {
    const { log, lines } = logTo();
    log.info({ stream: 'account', orderId: 'o-1' }, 'source live');
    expect(lines).toHaveLength(1);
    const line: unknown = JSON.parse(lines[0] ?? '');
    expect(line).toMatchObject({
      level: 'info',
      service: 'tidemark',
      version: '1.2.3',
      stream: 'account',
      orderId: 'o-1',
      msg: 'source live',
    });
    expect(line).toHaveProperty('time', expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/));
  });

  it('leaves out what is below its level', () => {
    const { log, lines } = logTo({ level: 'warn' });
    log.info({}, 'quiet');
    log.warn({}, 'loud');
    expect(lines).toHaveLength(1);
  });

  it('tells an error with code, stack and causes, and nothing else of it', () => {
    const { log, lines } = logTo();
    const cause = Object.assign(new Error('connect ECONNREFUSED'), {
      code: 'ECONNREFUSED',
      headers: { authorization: canary },
    });
    log.error(
      { err: Object.assign(new Error('read failed', { cause }), { parameters: [canary], retryable: true }) },
      'reading',
    );
    const line: unknown = JSON.parse(lines[0] ?? '');
    expect(line).toMatchObject({ err: { message: 'read failed', retryable: true, cause: { code: 'ECONNREFUSED' } } });
    expect(lines[0]).not.toContain('c4n4ry');
  });

  it('shows the remedy of an error that has one, and no stack, also not that of its cause', () => {
    const { log, lines } = logTo();
    const err = new ProgramError('port 1 is taken', {
      code: 'PORT_TAKEN',
      fix: 'Take another.',
      cause: new Error('EADDRINUSE'),
    });
    log.error({ err }, 'a part cannot go on');
    const line: unknown = JSON.parse(lines[0] ?? '');
    expect(line).toMatchObject({ err: { fix: 'Take another.', cause: { message: 'EADDRINUSE' } } });
    expect(lines[0]).not.toContain('"stack"');
  });

  it('shows no stack of a fault of the network, wherever in the causes it is, and that of any other fault', () => {
    const { log, lines } = logTo();
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    for (const err of [refused, new AggregateError([refused]), new Error('Failed query', { cause: refused })])
      log.warn({ err }, 'the database could not be asked');
    log.warn({ err: new Error('ours') }, 'a fault');
    expect(lines.map((line) => line.includes('"stack"'))).toEqual([false, false, false, true]);
    expect(lines[2]).toContain('"code":"ECONNREFUSED"');
  });

  it('survives an error that is its own cause', () => {
    const { log, lines } = logTo();
    const error = new Error('round');
    error.cause = error;
    log.error({ err: error }, 'round');
    expect(lines).toHaveLength(1);
  });

  it('is readable on a terminal', () => {
    const { log, lines } = logTo({ pretty: true });
    log.child({ part: 'relay' }).info({ ms: 12 }, 'part started');
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/INFO.*part started.*"part":"relay".*"ms":12/);
  });
});

describe('a secret in the log', () => {
  it.each([
    ['as a value of its class', (secret: string) => ({ secret: new Secret(secret) })],
    ['in a header', (secret: string) => ({ headers: { authorization: `Bearer ${secret}` } })],
    ['in a body', (secret: string) => ({ request: { body: { client_secret: secret } } })],
    ['under a name of its own', (secret: string) => ({ password: secret })],
  ])('is redacted %s, though it is not known', (_way, fields) => {
    const { log, lines } = logTo();
    log.warn(fields(canary), 'look');
    expect(lines[0]).toContain('[redacted]');
    expect(lines[0]).not.toContain('c4n4ry');
  });

  it.each([
    ['in a message', (secret: string) => [{}, `refused ${secret}`] as const],
    ['deep in a field', (secret: string) => [{ a: { b: [{ c: `x${secret}y` }] } }, 'look'] as const],
    ["in an error's message and stack", (secret: string) => [{ err: new Error(`no ${secret}`) }, 'look'] as const],
  ])('is replaced %s once it is known', (_way, line) => {
    const { log, lines } = logTo({ secrets: [new Secret(canary)] });
    const [fields, message] = line(canary);
    log.warn(fields, message);
    expect(lines[0]).toContain('[redacted]');
    expect(lines[0]).not.toContain('c4n4ry');
    expect(() => JSON.parse(lines[0] ?? '')).not.toThrow();
  });

  it('is replaced when it is the password in an address, encoded or not', () => {
    const { log, lines } = logTo({ secrets: [new Secret('postgres://app:p%40ssw0rd@db/tidemark')] });
    log.warn({}, 'password p@ssw0rd or p%40ssw0rd for postgres://app:p%40ssw0rd@db/tidemark');
    expect(lines[0]).not.toMatch(/ssw0rd/);
  });

  it('is replaced on a terminal too', () => {
    const { log, lines } = logTo({ pretty: true, secrets: [new Secret('c4n4ry-5ecret')] });
    log.warn({}, 'refused c4n4ry-5ecret');
    expect(lines[0]).not.toContain('c4n4ry');
  });
});
