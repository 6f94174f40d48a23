import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { fixedToken, writeDeps, writes } from '../../support/commands/order-writes.ts';
import { httpAnswer, scriptedWire, wholeRequest } from '../../support/platform/scripted-wire.ts';
import { eventually } from '../../support/runs/poll.ts';

/** No whole answer came: there is no status. */
const noAnswer = { code: 'NO_ANSWER', message: expect.any(String) };
const patient = writeDeps();
const hasty = () => writeDeps(fixedToken(), { totalMs: 100, connectMs: 100 });

describe.each(Object.entries(writes))('%s on the wire', (_name, write) => {
  it('is one request on a connection of its own, with the bearer token, closed afterwards', async () => {
    let ended = false;
    const wire = await scriptedWire({
      onConnect: (socket) => socket.on('end', () => (ended = true)),
      onBytes: (socket, bytes) => wholeRequest(bytes) && socket.write(httpAnswer(write.status, write.answer)),
    });
    expect(await write.run(patient, wire.url)).toMatchObject({ kind: 'accepted' });
    const [head = '', body = ''] = wire.received[0]?.split('\r\n\r\n') ?? [];
    expect(head.split('\r\n')[0]).toBe(`${write.method} ${write.path} HTTP/1.1`);
    expect(head.toLowerCase()).toContain('authorization: bearer a-token');
    expect(body === '' ? undefined : typeof JSON.parse(body)).toBe(write.method === 'DELETE' ? undefined : 'object');
    expect([wire.connections, wire.requests]).toEqual([1, 1]);
    await eventually(() => expect(ended).toBe(true));
  });

  it('takes a new connection each time, also where the platform offers to keep the old one, and then kills it', async () => {
    const wire = await scriptedWire({
      onBytes: (socket, bytes) => {
        if (!wholeRequest(bytes)) return;
        socket.write(httpAnswer(write.status, write.answer, { connection: 'keep-alive', 'keep-alive': 'timeout=60' }));
        setImmediate(() => socket.resetAndDestroy());
      },
    });
    for (let i = 1; i <= 3; i += 1) {
      expect((await write.run(patient, wire.url)).kind).toBe('accepted');
      expect([wire.connections, wire.requests]).toEqual([i, i]);
    }
  });

  it.each(['fin', 'rst'] as const)(
    'is unknown and never repeated when its answer is cut by %s after any number of bytes',
    async (how) => {
      const answer = httpAnswer(write.status, write.answer);
      let cutAfter = 0;
      const wire = await scriptedWire({
        onBytes: (socket, bytes) => {
          if (!wholeRequest(bytes)) return;
          socket.write(answer.slice(0, cutAfter), () =>
            how === 'fin' ? socket.end() : setImmediate(() => socket.resetAndDestroy()),
          );
        },
      });
      let runs = 0;
      for (cutAfter = 0; cutAfter < answer.length; cutAfter += how === 'fin' ? 5 : 23) {
        runs += 1;
        const result = await write.run(patient, wire.url);
        expect(result, `cut after ${cutAfter}`).toEqual({ kind: 'unknown', reason: noAnswer });
      }
      expect([wire.connections, wire.requests]).toEqual([runs, runs]);
    },
  );

  it.each(['fin', 'rst'] as const)(
    'is never repeated when the connection is cut by %s while it is written',
    async (how) => {
      const wire = await scriptedWire({
        onBytes: (socket) => (how === 'fin' ? socket.end() : socket.resetAndDestroy()),
      });
      for (let i = 1; i <= 10; i += 1) {
        const result = await write.run(patient, wire.url);
        expect(result).toEqual({ kind: 'unknown', reason: noAnswer });
        expect(wire.connections).toBe(i);
      }
    },
  );

  it.each(['fin', 'rst'] as const)('is not sent when the connection ended by %s before it was written', async (how) => {
    let cut = false;
    const wire = await scriptedWire({
      onConnect: (socket) => {
        socket.on('close', () => (cut = true));
        setImmediate(() => (how === 'fin' ? socket.end() : socket.resetAndDestroy()));
      },
    });
    const mayWrite = async () => {
      await eventually(() => expect(cut).toBe(true));
      return true;
    };
    const result = await write.run(patient, wire.url, { mayWrite });
    expect(result).toEqual({ kind: 'not_sent', mayRepeat: true, reason: noAnswer });
    expect([wire.connections, wire.requests]).toEqual([1, 0]);
  });

  it('is not sent when bytes came before it: they cannot be its answer', async () => {
    const wire = await scriptedWire({ onConnect: (socket) => socket.write(httpAnswer(408, '')) });
    const result = await write.run(patient, wire.url, {
      // What the server sent first has arrived when a later connection's bytes have.
      mayWrite: async () => {
        await once(connect(Number(new URL(wire.url).port), '127.0.0.1'), 'data');
        await systemClock.turn();
        return true;
      },
    });
    expect(result).toEqual({ kind: 'not_sent', mayRepeat: true, reason: noAnswer });
    expect(wire.requests).toBe(0);
  });

  it('is not sent when nobody listens, when the name is unknown, and when TLS fails or is not answered in time', async () => {
    for (const url of ['http://127.0.0.1:1', 'http://no-such-host.invalid', 'https://127.0.0.1:1'])
      expect(await write.run(patient, url)).toEqual({ kind: 'not_sent', mayRepeat: true, reason: noAnswer });
    const silent = await scriptedWire({});
    const plain = await scriptedWire({ onBytes: (socket) => socket.end(httpAnswer(400, '')) });
    for (const wire of [silent, plain]) {
      const secure = wire.url.replace('http:', 'https:');
      expect(await write.run(hasty(), secure)).toEqual({ kind: 'not_sent', mayRepeat: true, reason: noAnswer });
      expect([wire.connections, wire.requests]).toEqual([1, 0]);
    }
  });

  it('is asked for permission once the connection stands, and is not sent without it', async () => {
    const wire = await scriptedWire({});
    let asked = 0;
    const mayWrite = async () => {
      asked += 1;
      await eventually(() => expect(wire.connections).toBe(1));
      return false;
    };
    expect(await write.run(patient, wire.url, { mayWrite })).toMatchObject({ kind: 'not_sent', mayRepeat: false });
    expect([asked, wire.received[0]]).toEqual([1, '']);
  });

  it('is unknown when no answer comes by the deadline, and when the caller gives up', async () => {
    const wire = await scriptedWire({});
    expect(await write.run(hasty(), wire.url)).toEqual({ kind: 'unknown', reason: noAnswer });
    const cut = new AbortController();
    const given = write.run(patient, wire.url, { signal: cut.signal });
    await eventually(() => expect(wire.requests).toBe(2));
    cut.abort();
    expect(await given).toEqual({ kind: 'unknown', reason: noAnswer });
    expect([wire.connections, wire.requests]).toEqual([2, 2]);
  });

  it.each([
    ['a redirect to itself', httpAnswer(307, '', { location: 'self' })],
    ['a permanent redirect', httpAnswer(308, '', { location: '/elsewhere' })],
    ['503 with Retry-After', httpAnswer(503, '', { 'retry-after': '0' })],
    ['429 with Retry-After', httpAnswer(429, '', { 'retry-after': '0' })],
    ['408, which invites a repetition', httpAnswer(408, '', { connection: 'close' })],
    ['425', httpAnswer(425, '')],
    ['504', httpAnswer(504, '')],
    ['500', httpAnswer(500, '')],
    ['204', 'HTTP/1.1 204 X\r\n\r\n'],
    ['a page of a proxy', httpAnswer(200, '<html>ok</html>', { 'content-type': 'text/html' })],
    ['a bad gateway', httpAnswer(502, '<html>bad</html>', { 'content-type': 'text/html' })],
    ['an informational answer, then the end', 'HTTP/1.1 100 Continue\r\n\r\n'],
    ['an upgrade', 'HTTP/1.1 101 X\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'],
    ['something that is not HTTP', 'SSH-2.0-x\r\n'],
    ['two lengths', 'HTTP/1.1 200 X\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}'],
    ['a body that is not UTF-8', httpAnswer(200, 'x').replace('\r\n\r\nx', '\r\n\r\n\xff')],
    ['an endless header', `HTTP/1.1 200 X\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`],
    ['a success without a body', httpAnswer(202, '')],
    ['a success of another shape', httpAnswer(200, '{"ok":true}')],
  ])('is unknown and never repeated after %s', async (_what, answer) => {
    const wire = await scriptedWire({
      onBytes: (socket, bytes) => wholeRequest(bytes) && socket.end(Buffer.from(answer, 'latin1')),
    });
    expect(await write.run(patient, wire.url)).toMatchObject({ kind: 'unknown' });
    expect([wire.connections, wire.requests]).toEqual([1, 1]);
  });

  it('is refused by 401 without a repetition, and renews its token once', async () => {
    const wire = await scriptedWire({
      onBytes: (socket, bytes) =>
        wholeRequest(bytes) && socket.end(httpAnswer(401, '', { 'www-authenticate': 'Bearer' })),
    });
    const tokens = fixedToken();
    const result = await write.run(writeDeps(tokens), wire.url);
    expect(result).toEqual({
      kind: 'refused',
      reason: { code: 'HTTP_401', message: 'the platform answered with status 401', status: 401 },
    });
    expect([wire.requests, tokens.renewals]).toEqual([1, 1]);
  });

  it('is not sent when no token can be had, and nothing is connected', async () => {
    const wire = await scriptedWire({});
    const error = { code: 'LOGIN_REQUIRED', message: 'sign in', retryable: false, sent: 'yes' as const };
    const tokens = { ...fixedToken(), get: async () => ({ ok: false as const, error }) };
    expect(await write.run(writeDeps(tokens), wire.url)).toMatchObject({
      kind: 'not_sent',
      mayRepeat: false,
      reason: { code: 'LOGIN_REQUIRED' },
    });
    expect(wire.connections).toBe(0);
  });
});
