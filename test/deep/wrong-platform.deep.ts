import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { forFile } from '../support/commands/at-end.ts';
import { ScriptedPlatformServer } from '../support/platform/scripted-platform-server.ts';
import { eventually } from '../support/runs/poll.ts';
import { World } from '../support/runs/service-under-test.ts';
import type { LogLine } from '../support/runs/tidemark-process.ts';
import { type Received, type ScriptedServer, scriptedServer } from '../support/servers/http-server.ts';

type Answer = (request: Received, response: ServerResponse) => void;

const say =
  (status: number, type: string, text: string): Answer =>
  (_, response) => {
    response.writeHead(status, { 'content-type': type });
    response.end(text);
  };
const json = (status: number, body: unknown) => say(status, 'application/json', JSON.stringify(body));
const hang: Answer = () => undefined;
const cut: Answer = (request, response) => {
  void request;
  response.destroy();
};

const redirect: Answer = (request, response) => {
  response.writeHead(302, { location: request.path });
  response.end();
};
/** Blanks without end, as fast as they are read. */
const endless: Answer = (_, response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  const more = () => {
    while (!response.destroyed && response.write(' '.repeat(1 << 20)));
  };
  response.on('drain', more);
  more();
};
/** A byte now and then, so that no pause is ever long. */
const trickle: Answer = (_, response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  const timer = setInterval(() => response.write(' '), 200);
  response.on('close', () => clearInterval(timer));
};

const goodToken = json(200, { access_token: 'good', token_type: 'Bearer', expires_in: 3600 });
/**
 * A platform that signs in and lists as it is told; every other path, the
 * stream's upgrade among them, is not found.
 */
const tokenIs =
  (token: Answer): Answer =>
  (request, response) =>
    request.path === '/v1/oauth2/token'
      ? token(request, response)
      : json(404, { error: 'not found' })(request, response);
const listIs =
  (list: Answer): Answer =>
  (request, response) =>
    request.path.startsWith('/v2/users/me/accounts') ? list(request, response) : tokenIs(goodToken)(request, response);

const noToken = 'no new access token';
const noList = 'the accounts could not be listed';

/**
 * Each way in which a platform can be wrong that `doctor` has a line
 * for, and the line of the log that says why.
 */
const ways: readonly (readonly [string, Answer, string, RegExp])[] = [
  ['refuses the secret', tokenIs(json(401, { error: 'invalid_client' })), noToken, /invalid_client/],
  ['answers its token in HTML', tokenIs(say(200, 'text/html', '<html>Sign in</html>')), noToken, /./],
  ['answers without a token', tokenIs(json(200, {})), noToken, /access_token/],
  ['answers that the token is null', tokenIs(json(200, { access_token: null, token_type: 'Bearer' })), noToken, /./],
  ['answers 500 for a token', tokenIs(json(500, { error: 'oops' })), noToken, /./],
  ['cuts the connection for a token', tokenIs(cut), noToken, /./],
  ['redirects for a token, to where it came from', tokenIs(redirect), noToken, /302/],
  ['answers a token without end', tokenIs(endless), noToken, /more than \d+ bytes/],
  [
    'gives tokens that have ended',
    tokenIs(json(200, { access_token: 'x', token_type: 'Bearer', expires_in: 0 })),
    noList,
    /./,
  ],
  ['refuses its own token', listIs(json(401, { error: 'no' })), noList, /./],
  ['lists garbage as accounts', listIs(json(200, [1, null, { accounts: 'none' }])), noList, /./],
];

/** What takes up to half a minute to say: the reads are tried again, or wait for an answer. */
const slowWays: typeof ways = [
  ['never answers for a token', tokenIs(hang), noToken, /./],
  ['fails the list of accounts', listIs(json(500, { error: 'no' })), noList, /./],
  ['lists accounts in HTML', listIs(say(200, 'text/html', '<html>')), noList, /./],
  ['never answers for the list', listIs(hang), noList, /./],
  ['answers for a token a byte now and then', tokenIs(trickle), noToken, /within/],
  ['lists accounts without end', listIs(endless), noList, /./],
];

describe('a start against a platform that is wrong', () => {
  const client = { PLATFORM_CLIENT_ID: 'desk', PLATFORM_CLIENT_SECRET: 'wrong' };
  const world = forFile(() => World.create({ platform: client }));
  type Way = (typeof ways)[number];

  /** Answers its probes, says why in one line, and ends by SIGTERM. */
  async function lives(base: string, message: string, why: RegExp, within = world()): Promise<void> {
    const service = await within.serve({
      PLATFORM_URL: base,
      PLATFORM_STAGING_URL: base,
      PLATFORM_STREAM_URL: `${base.replace('http', 'ws')}/v1/stream`,
    });
    await service.awaitLog('the lane is ours', ({ msg }) => msg === 'the lane is ours');
    const said = await service.awaitLog(message, ({ msg }) => msg === message);
    expect(String(said['reason'])).toMatch(why);
    const admin = await service.adminAddress();
    // Later than the first try, too: the loop that this is about began with a second one.
    for (let round = 0; round < 3; round += 1) {
      const soon = { signal: AbortSignal.timeout(20_000) };
      expect((await fetch(`${admin}/livez`, soon)).status).toBe(200);
      // At the start the first answer of Kafka is waited for.
      await eventually(
        async () => {
          const { code, body } = await service.ready();
          if (code !== 200) throw new Error(JSON.stringify(body));
        },
        { deadlineMs: 120_000, everyMs: 100 },
      );
      const status = await (await fetch(`${admin}/status`, soon)).json();
      expect(status).toMatchObject({ trust: { trusted: false } });
      expect((await fetch(`${await service.restAddress()}/v1/orders`, soon)).status).toBe(200);
    }
    const lines = service.process.log().filter(({ msg }: LogLine) => msg === message);
    expect(lines.length).toBeLessThan(10);
    expect(await service.stop()).toBe(0);
  }

  async function livesBeside([, answer, message, why]: Way, within?: World): Promise<void> {
    const platform: ScriptedServer = await scriptedServer(answer);
    try {
      await lives(platform.url, message, why, within);
    } finally {
      await platform.close();
    }
  }

  it.each(ways)('that %s', (...way) => livesBeside(way));

  it(`that ${slowWays.map(([name]) => name).join(', or ')}`, async () => {
    const ends = slowWays.map(async (way) => livesBeside(way, await World.create({ platform: client })));
    const faults = (await Promise.allSettled(ends)).map((end, i) => [slowWays[i]?.[0], end.status, end]);
    expect(faults.filter(([, status]) => status === 'rejected')).toEqual([]);
  });

  it('that nobody listens for', async () => {
    const gone = await scriptedServer(hang);
    await gone.close();
    // A database of its own: one of the cases above has stored a token, which is shared.
    await lives(gone.url, noToken, /./, await World.create({ platform: client }));
  });

  it('that signs in, and whose stream refuses', async () => {
    const refuseUpgrade = () => 'HTTP/1.1 404 Not Found\r\n\r\n';
    const platform = await ScriptedPlatformServer.start({ accounts: ['ACC.1'], refuseUpgrade });
    const service = await world().serve(platform.settings);
    const reason = await eventually(
      async () => {
        const { sources } = await service.status();
        const ends = (sources as { lastEnd: string | null }[]).flatMap(({ lastEnd }) => lastEnd ?? []);
        if (ends[0] === undefined) throw new Error(`no connection has ended yet\n${service.process.tail()}`);
        return ends[0];
      },
      { deadlineMs: 120_000, everyMs: 100 },
    );
    expect(reason).toMatch(/404/);
    expect((await service.ready()).body).toMatchObject({ status: 'degraded' });
    expect(await service.stop()).toBe(0);
  });
});
