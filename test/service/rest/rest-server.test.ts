import type { Server } from 'node:http';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import { readGateDefaults } from '../../../src/service/rest/read-gate.ts';
import { RestServer } from '../../../src/service/rest/rest-server.ts';
import { streamHubDefaults } from '../../../src/service/rest/stream/stream-hub.ts';
import { ScriptedCommands, sampleCommand } from '../../support/commands/scripted-commands.ts';
import { MemoryDeadLetters } from '../../support/orders/memory-dead-letters.ts';
import { MemoryFleetActions } from '../../support/orders/memory-fleet-actions.ts';
import { MemoryReads } from '../../support/orders/memory-reads.ts';
import { MemoryRepairs } from '../../support/orders/memory-repairs.ts';
import { MemoryService } from '../../support/rest/memory-service.ts';
import { ask, forwardingOf, type RestRigOptions, sha256, startIssuer, startRest } from '../../support/rest/rest-rig.ts';
import { accountBody } from '../../support/rest/route-samples.ts';
import { eventually } from '../../support/runs/poll.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { sendRaw } from '../../support/servers/raw-socket.ts';

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

const forever = () => new AbortController().signal;

async function start(options: RestRigOptions = {}) {
  const rig = await startRest(options);
  stops.push(() => rig.server.drain(forever()));
  return rig;
}

function unstarted(host: string, auth: RestRigOptions['auth'] = {}): RestServer {
  const [commands, reads] = [new ScriptedCommands(), new MemoryReads()];
  const auditTrail = { record: () => undefined, drained: async () => undefined };
  return new RestServer(
    {
      ...{ fetch, clock: systemClock, random: systemRandom, log: silentLog },
      ...{ metrics: createMetrics(), commands, reads, commandReads: reads, auditTrail },
      ...{
        service: new MemoryService(),
        deadLetters: new MemoryDeadLetters(),
        fleet: new MemoryFleetActions(),
        repairs: new MemoryRepairs(),
      },
      accountStates: () => undefined,
      forwarding: forwardingOf({}),
    },
    {
      host,
      port: 0,
      version: '1',
      auth,
      maxConnections: 10,
      stream: streamHubDefaults,
      readGate: readGateDefaults,
      takeAnswerMs: 30_000,
    },
  );
}

describe('without sign-in', () => {
  it.each(['0.0.0.0', '::', '10.1.2.3', 'example.com', '127.0.0.1.evil.example'])(
    'does not listen on %s, and says what to set',
    async (host) => {
      const server = unstarted(host);
      await expect(server.start()).rejects.toMatchObject({
        code: 'AUTH_REQUIRED',
        message: expect.stringMatching(/static tokens.*127\.0\.0\.1/),
      });
      await server.drain(forever());
    },
  );

  it.each(['127.0.0.1', 'localhost', '127.8.9.1'])('listens on %s', async (host) => {
    const server = unstarted(host);
    await server.start();
    expect((await ask(`${server.address}/v1/orders`)).status).toBe(200);
    await server.drain(forever());
  });

  it('makes everybody the principal loopback, whatever token they bring', async () => {
    const { address, commands } = await start();
    const headers = { 'content-type': 'application/json', 'idempotency-key': 'k', authorization: 'Bearer whatever' };
    await ask(`${address}/v1/orders`, { method: 'POST', headers, body: JSON.stringify(accountBody) });
    expect(commands.submissions[0]?.principal).toBe('loopback');
  });

  it.each(['evil.example', 'evil.example:8080', 'localhost.evil.example', '10.0.0.1', '', '[::1].evil.example'])(
    'answers nothing to a page that was made to resolve here: Host %j',
    async (host) => {
      const { address } = await start();
      const answer = await sendRaw(address, `GET /v1/orders HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      expect(answer).toMatch(/^HTTP\/1\.1 421 .*HOST_NOT_LOOPBACK/s);
    },
  );

  it.each(['localhost', 'LOCALHOST:8080', '127.0.0.1:8080', '[::1]:8080'])('answers to Host %s', async (host) => {
    const { address } = await start();
    expect(await sendRaw(address, `GET /v1/orders HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 200 /,
    );
  });
});

describe('with sign-in', () => {
  const token = 'a-static-token';
  const auth = {
    tokens: [
      { name: 'desk', sha256: sha256(token), scopes: ['orders:read', 'orders:write'], accounts: 'all' as const },
    ],
  };

  it('listens anywhere, and answers to any host', async () => {
    const server = unstarted('0.0.0.0', auth);
    await server.start();
    const address = `http://127.0.0.1:${new URL(server.address ?? '').port}`;
    const request = `GET /v1/orders HTTP/1.1\r\nHost: desk.example\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`;
    expect(await sendRaw(address, request)).toMatch(/^HTTP\/1\.1 200 /);
    await server.drain(forever());
  });

  it('submits commands under the name of the token', async () => {
    const { address, commands } = await start({ auth });
    const headers = { 'content-type': 'application/json', 'idempotency-key': 'k', authorization: `bearer ${token}` };
    await ask(`${address}/v1/orders`, { method: 'POST', headers, body: JSON.stringify(accountBody) });
    expect(commands.submissions[0]?.principal).toBe('desk');
  });

  it('keeps names of JWTs apart from those of static tokens', async () => {
    const issuer = await startIssuer();
    stops.push(() => issuer.stop());
    const { address, commands } = await start({ auth: { ...auth, jwt: issuer.jwt } });
    const headers = {
      'content-type': 'application/json',
      'idempotency-key': 'k',
      authorization: `Bearer ${await issuer.sign({ sub: 'desk' })}`,
    };
    await ask(`${address}/v1/orders`, { method: 'POST', headers, body: JSON.stringify(accountBody) });
    expect(commands.submissions[0]?.principal).toBe(`jwt:${issuer.jwt.issuer}#desk`);
  });

  it('answers 503, not 401, while the keys of the issuer are out of reach', async () => {
    const issuer = await startIssuer();
    stops.push(() => issuer.stop());
    issuer.answers.status = 500;
    const { address } = await start({ auth: { jwt: issuer.jwt } });
    const { status, body, headers } = await ask(`${address}/v1/orders`, {
      headers: { authorization: `Bearer ${await issuer.sign()}` },
    });
    expect([status, body['code'], body['retryable'], headers.get('retry-after')]).toEqual([
      503,
      'AUTH_UNAVAILABLE',
      true,
      '5',
    ]);
  });

  it('asks the issuer once for its keys, however many tokens name a key that it does not have', async () => {
    const issuer = await startIssuer();
    stops.push(() => issuer.stop());
    const { address } = await start({ auth: { jwt: issuer.jwt } });
    for (let i = 0; i < 20; i += 1) {
      const authorization = `Bearer ${await issuer.sign({}, { kid: `key-${i}` })}`;
      expect((await ask(`${address}/v1/orders`, { headers: { authorization } })).status).toBe(401);
    }
    expect(issuer.answers.asked).toBeLessThanOrEqual(2);
  });

  it('does not take a shared secret or none for an algorithm', () => {
    for (const algorithms of [['HS256'], ['none'], ['RS256', 'HS512'], []])
      expect(() =>
        unstarted('127.0.0.1', {
          jwt: { issuer: 'a', audience: 'b', jwksUrl: 'http://localhost/', algorithms, typ: 'at+jwt' },
        }),
      ).toThrow(/public key/);
  });
});

describe('a drain', () => {
  /** A command that is answered when `release` is called. */
  function held(rig: Awaited<ReturnType<typeof start>>) {
    let release = () => {};
    rig.commands.submitAnswer = () =>
      new Promise((resolve) => {
        release = () => resolve({ kind: 'journaled', command: sampleCommand(), replayed: false });
      });
    const headers = { 'content-type': 'application/json', 'idempotency-key': 'k' };
    const answer = ask(`${rig.address}/v1/orders`, { method: 'POST', headers, body: JSON.stringify(accountBody) });
    return { answer, release: () => release() };
  }

  it('lets an answer under way finish, and refuses what is new meanwhile', async () => {
    const rig = await startRest();
    const { answer, release } = held(rig);
    await eventually(() => expect(rig.commands.submissions).toHaveLength(1));
    const drained = rig.server.drain(forever());
    const refused = await ask(`${rig.address}/v1/orders`);
    expect([refused.status, refused.body['code'], refused.headers.get('retry-after')]).toEqual([503, 'DRAINING', '5']);
    expect(refused.headers.get('connection')).toBe('close');
    release();
    expect((await answer).status).toBe(200);
    await drained;
    await expect(fetch(`${rig.address}/v1/orders`)).rejects.toThrow();
  });

  it('gives an answer up that does not come in time', async () => {
    const rig = await startRest();
    const { answer } = held(rig);
    const failed = expect(answer).rejects.toThrow();
    await eventually(() => expect(rig.commands.submissions).toHaveLength(1));
    const giveUp = new AbortController();
    const drained = rig.server.drain(giveUp.signal);
    giveUp.abort();
    await drained;
    await failed;
  });

  it('answers who waits for news of a command with what is known', async () => {
    const rig = await startRest();
    const command = sampleCommand({ state: 'unknown' });
    rig.reads.commands = [{ command, evidence: [] }];
    rig.commands.waitAnswer = () => new Promise(() => {});
    const answer = ask(`${rig.address}/v1/commands/${command.commandId}`, { headers: { prefer: 'wait=30' } });
    await eventually(() => expect(rig.commands.waits).toHaveLength(1));
    await rig.server.drain(forever());
    expect(await answer).toMatchObject({ status: 202, body: { result: 'unknown' } });
  });

  it('does not wait for a caller that went away', async () => {
    const rig = await startRest();
    const { hostname, port } = new URL(rig.address);
    const socket = connect(Number(port), hostname);
    const head = `POST /v1/orders HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`;
    socket.write(head);
    await eventually(async () => expect(await connectionsOf(rig.server)).toBe(1));
    socket.destroy();
    await rig.server.drain(forever());
  });

  it('ends a server that was never started', async () => {
    await unstarted('127.0.0.1').drain(forever());
  });
});

/** node's server under ours: what no port of ours shows. */
function httpServerOf(server: RestServer): Server {
  return (server as unknown as { readonly server: { readonly server: Server } }).server.server;
}

function connectionsOf(server: RestServer): Promise<number> {
  return new Promise((resolve) => httpServerOf(server).getConnections((_error, count) => resolve(count)));
}

describe('what goes wrong inside', () => {
  it('is answered without its message, and logged under the id of the request', async () => {
    const lines: object[] = [];
    const log = { ...silentLog, error: (line: object) => void lines.push(line) } as typeof silentLog;
    const { address, commands } = await start({ log });
    commands.halts.list = () => {
      throw new Error('c4n4ry');
    };
    const { status, body, text } = await ask(`${address}/v1/halts`, { headers: { 'x-request-id': 'req-9' } });
    expect([status, body['code'], body['requestId']]).toEqual([500, 'INTERNAL', 'req-9']);
    expect(text).not.toContain('c4n4ry');
    expect(lines).toMatchObject([{ requestId: 'req-9', err: { message: 'c4n4ry' } }]);
  });
});

describe('a write that takes long', () => {
  it('is not cut by the limit on idle connections for three minutes', async () => {
    const { server } = await start();
    expect(httpServerOf(server).timeout).toBe(180_000);
  });
});

describe('the time of answers', () => {
  it('is measured under the pattern of the route, never under its path', async () => {
    const rig = await start();
    await ask(`${rig.address}/v1/orders/account/c4n4ry`);
    await ask(`${rig.address}/c4n4ry`);
    const text = await rig.metrics.registry.metrics();
    expect(text).toContain(
      'http_request_duration_seconds_count{method="GET",route="/v1/orders/:stream/:orderId",code_class="4xx"} 1',
    );
    expect(text).toContain('route="unknown",code_class="4xx"} 1');
    expect(text.includes('c4n4ry')).toBe(false);
  });
});
