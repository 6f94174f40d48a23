import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { OtherInstance, OtherInstances } from '../../../../src/service/fleet/other-instances.ts';
import { Forwarding } from '../../../../src/service/rest/instances/forwarding.ts';
import { replaced } from '../../../simulation/planted/replaced.ts';
import { commandId, sampleCommand } from '../../../support/commands/scripted-commands.ts';
import { ask, type RestRigOptions, sha256, startRest } from '../../../support/rest/rest-rig.ts';
import { accountBody } from '../../../support/rest/route-samples.ts';
import { eventually } from '../../../support/runs/poll.ts';
import { type ScriptedServer, scriptedServer } from '../../../support/servers/http-server.ts';

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

const notLeader = { kind: 'declined', code: 'NOT_LEADER', message: 'another process holds the shard' } as const;

/** One caller, with this token. */
function deskWith(token: string) {
  return { tokens: [{ name: 'desk', sha256: sha256(token), scopes: ['orders:write'], accounts: 'all' as const }] };
}

type Rig = Awaited<ReturnType<typeof startRest>>;

async function start(options: RestRigOptions): Promise<Rig> {
  const rig = await startRest(options);
  stops.push(() => rig.server.drain(new AbortController().signal));
  return rig;
}

function holds(address: string, instance = 'two'): OtherInstances {
  return {
    holderOf: (accountId) => (accountId === 'ACC-1' ? { instance, address } : undefined),
    all: () => [{ instance, address }],
  };
}

/** An instance that holds no shard, beside the one at this address, which holds that of ACC-1. */
async function startBeside(address: string, options: RestRigOptions = {}): Promise<Rig> {
  const rig = await start({ instance: 'one', others: holds(address), ...options });
  const { commands } = rig;
  commands.submitAnswer = () => notLeader;
  commands.cancelAllAnswer = () => notLeader;
  for (const name of ['resolveAnswer', 'haltAnswer', 'approveAnswer', 'probeAnswer'] as const)
    commands[name] = notLeader;
  return rig;
}

async function startTwo(options: RestRigOptions = {}) {
  const holder = await start({ instance: 'two', ...options });
  return { holder, other: await startBeside(holder.address, options) };
}

function place(rig: Pick<Rig, 'address'>, headers: Record<string, string> = {}, body: object = accountBody) {
  return ask(`${rig.address}/v1/orders`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', 'idempotency-key': 'key-1', ...headers },
  });
}

async function scripted(...script: Parameters<typeof scriptedServer>): Promise<ScriptedServer> {
  const server = await scriptedServer(...script);
  stops.push(() => server.close());
  return server;
}

describe('a command for an account of another instance', () => {
  it('is answered by that instance, with its status, body and headers', async () => {
    const { holder, other } = await startTwo();
    const direct = await place(holder);
    const through = await place(other, { prefer: 'wait=3' });
    expect([through.status, through.body]).toEqual([direct.status, direct.body]);
    for (const name of ['content-type', 'location', 'ratelimit', 'ratelimit-policy', 'tidemark-instance'])
      expect([name, through.headers.get(name)]).toEqual([name, direct.headers.get(name)]);
    expect(through.headers.get('preference-applied')).toBe('wait=3');
    expect(through.headers.get('tidemark-instance')).toBe('two');
  });

  it('arrives there as it was sent', async () => {
    const { holder, other } = await startTwo();
    await place(holder, { 'x-request-id': 'req-1', prefer: 'wait=3' }, { ...accountBody, clientId: 'mine' });
    await place(other, { 'x-request-id': 'req-1', prefer: 'wait=3' }, { ...accountBody, clientId: 'mine' });
    const [direct, through] = holder.commands.submissions;
    expect(through).toEqual(direct);
    expect(through).toMatchObject({ idempotencyKey: 'key-1', requestId: 'req-1', waitMs: 3_000, callerRef: 'mine' });
  });

  it('is forwarded with the headers that commands read, and with none of a browser', async () => {
    const holder = await scripted(({ headers }, response) => {
      response
        .writeHead(202, { 'x-request-id': String(headers['x-request-id']), 'retry-after': '7', 'set-cookie': 'a=b' })
        .end('{}');
    });
    const other = await startBeside(holder.url, {
      auth: deskWith('token-1'),
    });
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const headers = {
      authorization: 'Bearer token-1',
      'idempotency-key': 'key-1',
      'if-match': '"12"',
      traceparent,
      cookie: 'c=d',
    };
    const path = '/v1/orders/ord-1?accountId=ACC-1';
    const answer = await ask(`${other.address}${path}`, {
      method: 'DELETE',
      headers: { ...headers, 'x-request-id': 'req-1' },
    });
    expect([answer.status, answer.headers.get('retry-after'), answer.headers.get('set-cookie')]).toEqual([
      202,
      '7',
      null,
    ]);
    const [{ host: _host, connection: _connection, ...received } = {}] = holder.received.map(
      (request) => request.headers,
    );
    const { cookie: _cookie, ...own } = headers;
    const ofOurs = { 'x-request-id': 'req-1', 'tidemark-forwarded': 'one', 'accept-encoding': 'identity' };
    expect(received).toEqual({ ...own, ...ofOurs });
    expect(holder.received.map(({ method, path, body }) => [method, path, body])).toEqual([['DELETE', path, '']]);
  });

  it('needs a token that the other instance accepts too', async () => {
    const holder = await start({ instance: 'two', auth: deskWith('token-2') });
    const other = await startBeside(holder.address, { auth: deskWith('token-1') });
    const { status, body, headers } = await place(other, { authorization: 'Bearer token-1' });
    expect([status, body['code'], headers.get('tidemark-instance')]).toEqual([401, 'INVALID_TOKEN', 'two']);
    expect(headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
    expect(holder.commands.submissions).toEqual([]);
  });

  it('is never forwarded twice', async () => {
    const holder = await start({ instance: 'two' });
    const between = await startBeside(holder.address, { instance: 'between' });
    const other = await startBeside(between.address);
    const { status, body, headers } = await place(other);
    expect([status, body['code'], headers.get('tidemark-instance')]).toEqual([503, 'NOT_LEADER', 'between']);
    expect(holder.commands.submissions).toEqual([]);
  });

  it('is not forwarded where this instance can answer', async () => {
    const { holder, other } = await startTwo();
    other.commands.submitAnswer = () => ({ kind: 'journaled', command: sampleCommand(), replayed: true });
    const known = await place(other);
    expect([known.status, known.headers.get('tidemark-instance')]).toEqual([200, 'one']);
    other.commands.submitAnswer = () => ({
      kind: 'declined',
      code: 'COMMANDS_OFF',
      message: 'commands are turned off',
    });
    expect((await place(other)).body['code']).toBe('COMMANDS_OFF');
    expect(holder.commands.submissions).toEqual([]);
  });

  it('is declined where no instance holds the account', async () => {
    const { other } = await startTwo();
    const { status, body, headers } = await place(other, {}, { ...accountBody, accountId: 'ACC-2' });
    expect([status, body['code'], headers.get('retry-after')]).toEqual([503, 'NOT_LEADER', '1']);
    expect(headers.get('tidemark-instance')).toBe('one');
  });
});

describe('an act of an operator on an account of another instance', () => {
  const reason = 'a reason that is recorded';
  it.each([
    ['/v1/accounts/ACC-1/halt', { reason }],
    ['/v1/accounts/ACC-1/resume', { reason }],
    ['/v1/accounts/ACC-1/cancel-all', { reason }],
    [`/v1/commands/${commandId}/resolution`, { reason, result: 'applied' }],
    ['/v1/approvals/0c2f5f9e-8f43-4c1c-9d0a-5b1f3e0f6a22/approve', { reason }],
    ['/v1/probe?accountId=ACC-1', undefined],
    ['/v1/halt', { reason }],
  ])('%s is done there', async (path, body) => {
    const { holder, other } = await startTwo();
    for (const rig of [holder, other])
      rig.reads.commands = [{ command: sampleCommand({ state: 'unknown' }), evidence: [] }];
    const sent = (rig: Rig) =>
      ask(`${rig.address}${path}`, {
        method: 'POST',
        headers: { 'idempotency-key': 'key-1', 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
    const direct = await sent(holder);
    const through = await sent(other);
    expect([direct.status, through.status, through.text]).toEqual([200, 200, direct.text]);
    expect(through.headers.get('tidemark-instance')).toBe('two');
    expect(holder.commands.words.length + holder.commands.probed.length).toBe(2);
  });

  it('halts it here, where its holder may be frozen: the answer waits for that one', async () => {
    const halt = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ reason }) };
    const { holder, other } = await startTwo();
    const alone = await startBeside('http://127.0.0.1:1');
    for (const rig of [other, alone]) {
      rig.commands.haltAnswer = { kind: 'done', halts: [] };
      expect((await ask(`${rig.address}/v1/accounts/ACC-1/halt`, halt)).status).toBe(200);
    }
    expect([holder, other, alone].map(({ commands }) => commands.words.length)).toEqual([0, 1, 1]);
  });

  it('on every account goes on to the next instance while one holds nothing, or is not reached', async () => {
    const resume = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ reason }),
    };
    const { holder, other: none } = await startTwo();
    const all = [
      { instance: 'gone', address: 'http://127.0.0.1:1' },
      { instance: 'none', address: none.address },
      { instance: 'two', address: holder.address },
    ];
    const asked = await startBeside(holder.address, { others: { holderOf: () => undefined, all: () => all } });
    const answer = await ask(`${asked.address}/v1/resume`, resume);
    expect([answer.status, answer.headers.get('tidemark-instance')]).toEqual([200, 'two']);
    const alone = await startBeside(holder.address, {
      others: { holderOf: () => undefined, all: () => all.slice(0, 2) },
    });
    const declined = await ask(`${alone.address}/v1/resume`, resume);
    expect([declined.status, declined.body['code'], declined.headers.get('retry-after')]).toEqual([
      503,
      'NOT_LEADER',
      '1',
    ]);
    expect(holder.commands.words.map(({ what }) => what)).toEqual(['resume']);
  });
});

describe('a forward without an answer', () => {
  async function results({ metrics }: Rig) {
    const { values } = await metrics.rest.forwards.get();
    return Object.fromEntries(values.map(({ labels, value }) => [labels.result, value]));
  }

  it('may have been carried out: the caller is given a code of its own', async () => {
    const holder = await scripted((_request, response) => void response.socket?.destroy());
    const other = await startBeside(holder.url);
    const { status, body, headers } = await place(other);
    expect([status, body['code'], body['retryable'], headers.get('retry-after')]).toEqual([
      503,
      'FORWARD_UNANSWERED',
      true,
      '1',
    ]);
    expect([holder.received.length, await results(other)]).toEqual([1, { unanswered: 1 }]);
  });

  it('is one whose answer does not name the request, as that of a proxy', async () => {
    const holder = await scripted((_request, response) => void response.writeHead(404).end('no such site'));
    expect((await place(await startBeside(holder.url))).body['code']).toBe('FORWARD_UNANSWERED');
  });

  it('is declined as before where the instance was not reached', async () => {
    const gone = await scriptedServer(() => undefined);
    await gone.close();
    const other = await startBeside(gone.url);
    const { status, body, headers } = await place(other);
    expect([status, body['code'], headers.get('retry-after')]).toEqual([503, 'NOT_LEADER', '1']);
    expect(await results(other)).toEqual({ not_sent: 1 });
  });

  it('holds its place among those in flight until its caller has left', async () => {
    const holder = await scripted(() => undefined);
    const other = await startBeside(holder.url, { forwards: { most: 1 } });
    const leave = new AbortController();
    const headers = { 'content-type': 'application/json', 'idempotency-key': 'key-1' };
    const init = { method: 'POST', headers, body: JSON.stringify(accountBody), signal: leave.signal };
    const first = fetch(`${other.address}/v1/orders`, init).catch(() => 'left');
    await eventually(async () => expect(holder.received).toHaveLength(1));
    expect((await place(other)).body['code']).toBe('NOT_LEADER');
    leave.abort();
    expect(await first).toBe('left');
    await eventually(async () => expect(await results(other)).toMatchObject({ unanswered: 1 }));
  });
});

describe('issue: One frozen instance made places for healthy instances fail or wait.', () => {
  const stops: (() => unknown)[] = [];
  afterEach(async () => {
    for (const stop of stops.splice(0).reverse()) await stop();
  });

  const most = 4;
  const notLeader = { kind: 'declined', code: 'NOT_LEADER', message: 'another process holds the shard' } as const;

  async function start(options: RestRigOptions) {
    const rig = await startRest(options);
    stops.push(() => rig.server.drain(new AbortController().signal));
    return rig;
  }

  /**
   * An instance that holds nothing, one that is well and has ACC-2, and one that takes requests and
   * answers none, with the shard of ACC-1.
   */
  async function startFleet(forwards: NonNullable<RestRigOptions['forwards']>) {
    const frozen = await scriptedServer(() => undefined);
    stops.push(() => frozen.close());
    const well = await start({ instance: 'well' });
    const seen = new Map<string, OtherInstance>([
      ['ACC-1', { instance: 'frozen', address: frozen.url }],
      ['ACC-2', { instance: 'well', address: well.address }],
    ]);
    const others: OtherInstances = { holderOf: (accountId) => seen.get(accountId), all: () => [...seen.values()] };
    const asked = await start({ instance: 'asked', others, forwards });
    asked.commands.submitAnswer = () => notLeader;
    let keys = 0;
    const place = async (accountId: string): Promise<unknown> => {
      keys += 1;
      const headers = { 'content-type': 'application/json', 'idempotency-key': `key-${keys}` };
      const body = JSON.stringify({ ...accountBody, accountId });
      const answer = await ask(`${asked.address}/v1/orders`, { method: 'POST', headers, body });
      return answer.body['code'] ?? answer.headers.get('tidemark-instance');
    };
    return { place, seen, frozen, others, asked, well };
  }

  /**
   * What becomes of a place for the instance that is well, while
   * the frozen one has as many as it may.
   */
  async function besideFrozen(): Promise<unknown> {
    const { place, frozen, seen } = await startFleet({ most, ms: 30_000 });
    const hung = Array.from({ length: most }, () => place('ACC-1'));
    await eventually(() => expect(frozen.received).toHaveLength(most));
    const answer = await place('ACC-2');
    seen.delete('ACC-1');
    await Promise.all(hung);
    return answer;
  }

  describe('a frozen instance', () => {
    it('takes no place of those that wait for another one', async () => {
      expect(await besideFrozen()).toBe('well');
    });

    it('would be noticed to, if all shared one window', async () => {
      const attempt = (Forwarding.prototype as unknown as { attempt(...of: unknown[]): Promise<unknown> }).attempt;
      const shared = { inFlight: 0 };
      const plant = replaced(
        Forwarding,
        'attempt' as keyof Forwarding,
        async function (this: Forwarding, ...of: unknown[]) {
          if (shared.inFlight >= most) return { kind: 'not_sent' };
          shared.inFlight += 1;
          return attempt.apply(this, of).finally(() => {
            shared.inFlight -= 1;
          });
        } as never,
      );
      const back = plant();
      try {
        expect(await besideFrozen()).toBe('NOT_LEADER');
      } finally {
        back();
      }
    });

    it('keeps nobody waiting once the fleet shows another holder, and the command is not sent there as well', async () => {
      const { place, frozen, seen, well } = await startFleet({ most, ms: 30_000 });
      const hung = place('ACC-1');
      await eventually(() => expect(frozen.received).toHaveLength(1));
      seen.set('ACC-1', { instance: 'well', address: well.address });
      expect(await hung).toBe('FORWARD_UNANSWERED');
      expect(well.commands.submissions).toEqual([]);
    });

    it('keeps nobody waiting beyond the deadline, though the fleet still shows it', async () => {
      const { place, frozen } = await startFleet({ most, ms: 300 });
      expect(await place('ACC-1')).toBe('FORWARD_UNANSWERED');
      expect(frozen.received).toHaveLength(1);
    });

    it('is left out of a cancel-all of everything once the fleet has gone on without it', async () => {
      const { asked, frozen, seen } = await startFleet({ most, ms: 30_000 });
      const headers = { 'content-type': 'application/json', 'idempotency-key': 'all' };
      const answer = ask(`${asked.address}/v1/cancel-all`, { method: 'POST', headers, body: '{"reason":"stop"}' });
      await eventually(() => expect(frozen.received).toHaveLength(1));
      seen.delete('ACC-1');
      expect((await answer).body).toMatchObject({
        open: true,
        unanswered: [{ instance: 'frozen', code: 'FORWARD_UNANSWERED' }],
      });
    });
  });
});

describe('issue: A page of another program at an old address was the answer to a place.', () => {
  const stops: (() => unknown)[] = [];
  afterEach(async () => {
    for (const stop of stops.splice(0).reverse()) await stop();
  });
  const notLeader = { kind: 'declined', code: 'NOT_LEADER', message: 'x' } as const;

  /** Status and code of a place for an account that another instance holds. */
  async function placeAt(listener: RequestListener): Promise<[number, unknown]> {
    const http = createServer(listener);
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    stops.push(() => {
      http.closeAllConnections();
      http.close();
    });
    const address = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
    const others: OtherInstances = {
      holderOf: () => ({ instance: 'odd', address }),
      all: () => [{ instance: 'odd', address }],
    };
    const asked = await startRest({ instance: 'asked', others, forwards: { most: 4, ms: 700 } });
    stops.push(() => asked.server.drain(new AbortController().signal));
    asked.commands.submitAnswer = () => notLeader;
    const answer = await ask(`${asked.address}/v1/orders`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': 'k' },
      body: JSON.stringify({ ...accountBody, accountId: 'ACC-1' }),
    });
    return [answer.status, answer.body['code']];
  }

  function idOf({ headers }: IncomingMessage): { readonly 'x-request-id': string } {
    return { 'x-request-id': String(headers['x-request-id']) };
  }

  /** Writes the same again and again, until the other side has gone. */
  function dripped({ socket }: IncomingMessage, text: string): void {
    const timer = setInterval(() => socket.write(text), 20);
    socket.on('error', () => undefined).on('close', () => clearInterval(timer));
  }

  function withoutEnd(response: ServerResponse): void {
    const piece = Buffer.alloc(1_000_000, 'a');
    const more = (): void => {
      while (!response.destroyed && response.write(piece));
      if (!response.destroyed) response.once('drain', more);
    };
    more();
  }

  it.each<[string, RequestListener]>([
    [
      'sends its answer byte by byte',
      (request, response) => {
        response.writeHead(200, { ...idOf(request), 'content-type': 'application/json' });
        dripped(request, '1\r\n \r\n');
      },
    ],
    [
      'sends its headers one by one',
      (request) => {
        request.socket.write('HTTP/1.1 200 OK\r\n');
        dripped(request, 'x-a: b\r\n');
      },
    ],
    ['says that it is at work, without end', (request) => dripped(request, 'HTTP/1.1 102 Processing\r\n\r\n')],
    ['never answers', () => undefined],
    ['ends the connection', ({ socket }) => socket.destroy()],
    ['answers 500 without an end', (request, response) => withoutEnd(response.writeHead(500, idOf(request)))],
    [
      'sends elsewhere',
      (request, response) => {
        const headers = { ...idOf(request), 'content-type': 'application/json', location: 'http://127.0.0.1:1/' };
        response.writeHead(307, headers).end('{}');
      },
    ],
    [
      'is a page',
      (request, response) => {
        response.writeHead(200, { ...idOf(request), 'content-type': 'text/html' }).end('<p>Welcome</p>');
      },
    ],
    [
      'says nothing of what it sends',
      (request, response) => {
        response.writeHead(200, idOf(request)).end('hello');
      },
    ],
    [
      'answers another request',
      (_request, response) => {
        response.writeHead(200, { 'x-request-id': 'other', 'content-type': 'application/json' }).end('{}');
      },
    ],
  ])(
    'a place for an instance that %s has an answer that was lost, in time',
    async (_what, listener) => {
      expect(await placeAt(listener)).toEqual([503, 'FORWARD_UNANSWERED']);
    },
    20_000,
  );

  it('an answer of ours is passed on', async () => {
    const answer = await placeAt((request, response) => {
      const headers = { ...idOf(request), 'content-type': 'application/problem+json; charset=utf-8' };
      response.writeHead(409, headers).end('{"code":"PLACING_HALTED"}');
    });
    expect(answer).toEqual([409, 'PLACING_HALTED']);
  });
});
