import { describe, expect, it } from 'vitest';
import { commandBody, problemBody, restServer, runAgainst } from '../support/rest/rest-answers.ts';
import { json, type Received } from '../support/servers/http-server.ts';

const unknown = {
  result: 'unknown',
  state: 'unknown',
  unresolved: true,
  orderId: 'o-9',
  reason: { code: 'OUTCOME_UNKNOWN', message: 'the platform does not know', status: 504 },
  evidence: [
    { number: 1, kind: 'note', code: 'sending', at: '2026-11-21T15:00:00.004Z', detail: {} },
    { number: 2, kind: 'answer', code: 'unknown', at: '2026-11-21T15:00:02.004Z', detail: { status: '504' } },
    { number: 3, kind: 'read', code: 'missed', at: '2026-11-21T15:00:04.000Z', detail: {} },
    { number: 4, kind: 'read', code: 'missed', at: '2026-11-21T15:00:08.000Z', detail: {} },
  ],
};
const id = '4f7c1d1e-1111-4222-8333-444455556666';

const [first, second, third] = [1, 2, 3].map((each) => `4f7c1d1e-0000-4000-8000-00000000000${each}`) as [
  string,
  string,
  string,
];

describe('command ls', () => {
  it('lists commands as a table, filtered as asked', async () => {
    const rest = await restServer((_request, response) => json(response, 200, { items: [commandBody()] }));
    const { out } = await runAgainst(rest.url, [
      'command',
      'ls',
      '--account',
      'SIM-1001',
      '--kind',
      'place',
      '--state',
      'accepted',
    ]);
    expect(rest.received[0]?.path).toBe('/v1/commands?accountId=SIM-1001&kind=place&state=accepted&limit=50');
    expect(out).toMatch(/^AGE +RESULT +KIND +ACCOUNT +TERMS +ORDER +COMMAND\n/);
    expect(out).toMatch(/ accepted +place +SIM-1001 +buy 10 AAPL limit at 187\.5, day +- +4f7c1d1e/);
  });

  it('follows the pages until it has enough, and says that there are more', async () => {
    const answer = ({ path }: Received) => ({
      items: [commandBody({ commandId: path.includes('cursor') ? 'c-2' : 'c-1' })],
      next: 'abc',
    });
    const rest = await restServer((request, response) => json(response, 200, answer(request)));
    const { out, err } = await runAgainst(rest.url, ['command', 'ls', '--limit', '2', '--json']);
    expect(JSON.parse(out).map(({ commandId }: { commandId: string }) => commandId)).toEqual(['c-1', 'c-2']);
    expect(rest.received.map(({ path }) => path)).toEqual(['/v1/commands?limit=2', '/v1/commands?limit=1&cursor=abc']);
    expect(err).toContain('There are more');
  });

  it('gives the on-call all that there is of each unresolved one, and the line that resolves it', async () => {
    const rest = await restServer(({ path }, response) => {
      if (path.startsWith('/v1/orders/'))
        return json(response, 200, { orderId: 'o-9', revision: 1, order: { venueOrderId: 'v-77' } });
      return json(response, 200, path.includes('?') ? { items: [commandBody(unknown)] } : commandBody(unknown));
    });
    const { code, out } = await runAgainst(rest.url, ['command', 'ls', '--unresolved']);
    expect(rest.received.map(({ path }) => path)).toEqual([
      '/v1/commands?unresolved=true&limit=50',
      `/v1/commands/${id}`,
      '/v1/orders/account/o-9',
    ]);
    expect(code).toBe(0);
    expect(out.replace(/\d+ (s|min|h|days) old/, 'N old').split('\n')).toEqual([
      'unknown  place  SIM-1001  account  N old',
      `  command   ${id}`,
      '  terms     buy 10 AAPL limit at 187.5, day',
      '  reference tm-0a1b2c3d-1111-4222-8333-444455556666',
      '  order     o-9, at the venue v-77',
      '  evidence  the platform does not know (OUTCOME_UNKNOWN, 504)',
      '            answer unknown 2026-11-21T15:00:02.004Z',
      '            read missed 2 times, last 2026-11-21T15:00:08.000Z',
      `  resolve    tidemark command resolve ${id} --result applied|rejected --reason "…"`,
      '',
    ]);
  });

  it('says that nothing is unresolved', async () => {
    const rest = await restServer((_request, response) => json(response, 200, { items: [] }));
    expect(await runAgainst(rest.url, ['command', 'ls', '--unresolved'])).toMatchObject({
      code: 0,
      out: 'No command is unresolved.\n',
    });
  });

  it('does not let a text from elsewhere move the cursor', async () => {
    const rest = await restServer((_request, response) =>
      json(response, 200, { items: [commandBody({ terms: { symbol: '\u001b[2JAAPL', side: 'BUY' } })] }),
    );
    expect((await runAgainst(rest.url, ['command', 'ls'])).out).toContain('?[2JAAPL');
  });
});

describe('command show', () => {
  const landed = {
    number: 5,
    kind: 'update',
    code: 'landed',
    attemptId: 'tm-0a1b2c3d-1111-4222-8333-444455556666',
    at: '2026-11-21T15:00:09.000Z',
    detail: { stream: 'account', orderId: 'o-9', revision: 1 },
  };
  const attempt = { ...(commandBody()['attempts'] as object[])[0], state: 'unknown' };
  const resolved = {
    ...unknown,
    attempts: [attempt],
    result: 'applied',
    state: 'applied',
    evidence: [...unknown.evidence, landed],
  };
  const timeline = [
    { at: '2026-11-21T15:00:00.001Z', what: 'prepared', attemptId: 'tm-0a1b', number: 1 },
    {
      at: '2026-11-21T15:00:02.004Z',
      what: 'answered',
      attemptId: 'tm-0a1b',
      number: 1,
      state: 'unknown',
      reason: unknown.reason,
    },
    { what: 'evidence', ...landed },
  ];

  it('shows the time of a read as an instant', async () => {
    const read = {
      number: 6,
      kind: 'read',
      code: 'missed',
      at: '2026-11-21T15:00:10.000Z',
      detail: { startedAtMs: 1_795_273_209_123, misses: 1 },
    };
    const rest = await restOf(resolved, [{ what: 'evidence', ...read }]);
    const { out } = await runAgainst(rest.url, ['command', 'show', id]);
    expect(out).toMatch(/read missed +startedAt 2026-11-21T\d\d:\d\d:09\.123Z, misses 1$/m);
  });

  const rule = 'an order that carries the reference of this command is there, and the venue has taken it';
  const verdict = { state: 'applied', because: 'landed', rule, agrees: true, complete: true };

  /** REST of one command, with the verdict by its evidence. */
  function restOf(command: Readonly<Record<string, unknown>>, shown: readonly object[] = timeline) {
    return restServer((_request, response) =>
      json(response, 200, { recomputed: verdict, ...commandBody(command), timeline: shown }),
    );
  }

  it('prints the timeline, and the verdict as the evidence alone gives it', async () => {
    const rest = await restOf(resolved);
    const { code, out } = await runAgainst(rest.url, ['command', 'show', id]);
    expect(rest.received.map(({ path }) => path)).toEqual([`/v1/commands/${id}`]);
    expect(code).toBe(0);
    expect(out).toContain(`evidence  computed again: applied, since ${rule}\n`);
    expect(out).toMatch(/^2026-11-21T15:00:00\.001Z {2}attempt 1 prepared +tm-0a1b$/m);
    expect(out).toMatch(
      /^2026-11-21T15:00:02\.004Z {2}attempt 1 answered unknown {2}the platform does not know \(OUTCOME_UNKNOWN, 504\)$/m,
    );
    expect(out).toMatch(/^2026-11-21T15:00:09\.000Z {2}update landed +stream account, orderId o-9, revision 1$/m);
  });

  it('shows each step once: the fact that an attempt was answered stands for its step', async () => {
    const answer = {
      what: 'evidence',
      kind: 'answer',
      code: 'unknown',
      attemptId: 'tm-0a1b',
      number: 2,
      detail: { reason: unknown.reason },
    };
    const note = { what: 'evidence', kind: 'note', code: 'prepared', attemptId: 'tm-0a1b', number: 1, detail: {} };
    const all = [
      ...timeline,
      { at: '2026-11-21T15:00:02.004Z', ...answer },
      { at: '2026-11-21T15:00:00.001Z', ...note },
    ];
    const rest = await restOf(resolved, all);
    const { out } = await runAgainst(rest.url, ['command', 'show', id]);
    expect(out).toMatch(
      /^2026-11-21T15:00:02\.004Z {2}answer unknown +the platform does not know \(OUTCOME_UNKNOWN, 504\)$/m,
    );
    expect(out).not.toContain('attempt 1 answered');
    expect(out.match(/prepared/g)).toHaveLength(1);
  });

  it('says when what is recorded does not follow from the evidence', async () => {
    const recomputed = { ...verdict, agrees: false };
    const rest = await restOf({ ...resolved, result: 'rejected', state: 'rejected', recomputed });
    expect((await runAgainst(rest.url, ['command', 'show', id])).out).toContain(
      `evidence  DIFFERS: computed again it is applied, since ${rule}\n`,
    );
    const { out } = await runAgainst(rest.url, ['command', 'show', id, '--json']);
    expect(JSON.parse(out)).toMatchObject({
      state: 'rejected',
      recomputed: { state: 'applied', because: 'landed', agrees: false },
    });
  });

  it('ends with 1 where there is no such command', async () => {
    const rest = await restServer((_request, response) =>
      json(response, 404, problemBody(404, 'COMMAND_NOT_FOUND', 'there is no such command')),
    );
    expect(await runAgainst(rest.url, ['command', 'show', first])).toMatchObject({
      code: 1,
      out: '',
      err: 'tidemark: there is no such command (COMMAND_NOT_FOUND)\n  `tidemark command ls` shows them; a token may see fewer.\n',
    });
  });
});

it.each([
  ['show', 'null'],
  ['resolve', 'c-1', '--result', 'moot', '--reason', 'x'],
])('command %s asks for a whole id', async (...argv) => {
  const { code, err } = await runAgainst('http://127.0.0.1:1', ['command', ...argv]);
  expect(code).toBe(64);
  expect(err).toContain('It must be the whole id of a command: `tidemark command ls` prints it.');
});

describe('command resolve', () => {
  it('records one word on several commands, and goes on after one that is refused', async () => {
    const rest = await restServer(({ path }, response) =>
      path.includes(second)
        ? json(response, 409, problemBody(409, 'ALREADY_RESOLVED', 'it is resolved'))
        : json(response, 200, commandBody({ result: 'rejected', state: 'rejected' })),
    );
    const argv = ['command', 'resolve', first, second, third, '--result', 'rejected', '--reason', 'by phone'];
    const { code, out } = await runAgainst(rest.url, argv);
    expect(rest.received.map(({ method, path, body }) => [method, path, body])).toEqual(
      [first, second, third].map((each) => [
        'POST',
        `/v1/commands/${each}/resolution`,
        '{"result":"rejected","reason":"by phone"}',
      ]),
    );
    expect(code).toBe(1);
    expect(out.split('\n')).toEqual([
      `rejected  command ${first}`,
      `it is resolved (ALREADY_RESOLVED)  command ${second}`,
      `rejected  command ${third}`,
      '',
    ]);
  });

  it('stops when nobody answers: the next would meet the same', async () => {
    const rest = await restServer((_request, response) =>
      json(response, 503, problemBody(503, 'NOT_LEADER', 'standing by')),
    );
    const { code } = await runAgainst(rest.url, [
      'command',
      'resolve',
      first,
      second,
      '--result',
      'moot',
      '--reason',
      'x',
    ]);
    expect(code).toBe(69);
    expect(rest.received).toHaveLength(1);
  });

  it.each([[['--result', 'unknown', '--reason', 'x']], [['--result', 'applied']], [['--reason', 'x']]])(
    'refuses %j',
    async (flags) => {
      expect(await runAgainst('http://127.0.0.1:1', ['command', 'resolve', first, ...flags])).toMatchObject({
        code: 64,
      });
    },
  );
});
