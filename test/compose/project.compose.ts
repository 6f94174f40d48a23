import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { systemClock } from '../../src/runtime/clock.ts';
import { readTopic } from '../../src/service/log/read-topic.ts';
import { RestCaller, type RestReply } from '../support/rest/rest-caller.ts';
import { eventually } from '../support/runs/poll.ts';
import { kafkaDeps, kafkaOptions } from '../support/servers/kafka-fixture.ts';
import { ComposeProject } from './compose-project.ts';
import { killService } from './kill-service.ts';
import { say } from './run.ts';

// In this order, as somebody would who follows docs/compose.md:
// each goes on from what the one before left.
const minutes = 60_000;
const longLived = ['postgres', 'kafka', 'sandbox', 'tidemark'];
const grafana = !inject('missingImages').some((image) => image.includes('grafana'));
const watching = grafana ? ['prometheus', 'grafana'] : ['prometheus'];

/**
 * The first step that failed: those after it would only repeat
 * its failure, each after minutes of waiting.
 */
let failed: string | undefined;
let project: ComposeProject;
let folder: string;
let token: string;
let first: RestReply['body'];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-compose-'));
  project = await ComposeProject.plan(inject('compose'), inject('dockerHost'), {
    standIns: inject('standIns'),
    folder,
  });
  await project.do(['build', 'tidemark'], 15 * minutes);
  say(`image: tidemark built as ${project.name}`);
});

let startedMs = 0;

beforeEach(() => {
  startedMs = systemClock.monotonicMs();
  if (failed !== undefined) throw new Error(`not tried, after what failed: ${failed}`);
});

afterEach(({ task }) => {
  if (task.result?.state === 'fail') failed ??= task.name;
  say(`${task.result?.state}: ${task.name}, ${Math.round((systemClock.monotonicMs() - startedMs) / 1000)} s`);
});

afterAll(async () => {
  await project.do(['--profile', 'observability', 'down', '--volumes', '--remove-orphans'], 5 * minutes);
  await rm(folder, { recursive: true, force: true });
});

function rest(): RestCaller {
  return new RestCaller([`http://127.0.0.1:${project.ports.PORT_REST}`]);
}

const bearer = () => ({ authorization: `Bearer ${token}` });

async function untilHealthy(services: readonly string[]): Promise<void> {
  for (const service of services) {
    await eventually(
      async () => {
        const { State } = await project.one(service);
        if (State.Health?.Status === 'healthy') return;
        const said = State.Health?.Log.at(-1)?.Output ?? '';
        throw new Error(
          `${service} is ${State.Status}, ${State.Health?.Status}: ${said.slice(0, 500)}\n${await logOf(service)}`,
        );
      },
      { deadlineMs: 5 * minutes, everyMs: 500 },
    );
  }
}

async function logOf(service: string): Promise<string> {
  return project.docker(['logs', '--tail', '20', (await project.one(service)).Id]);
}

/** Places an order that rests, waits for its result, and returns the order's id. */
async function placeOrder(): Promise<RestReply['body']> {
  const { status, body } = await rest().ask({
    ...{ method: 'POST', path: '/v1/orders', key: randomUUID(), headers: { ...bearer(), prefer: 'wait=20' } },
    body: {
      accountId: 'SIM-1002',
      symbol: 'AAPL',
      side: 'BUY',
      type: 'LIMIT',
      qty: '5',
      price: '1.00',
      timeInForce: 'GTC',
    },
  });
  expect([200, 202], JSON.stringify(body)).toContain(status);
  return eventually(
    async () => {
      const command = await rest().ask({ method: 'GET', path: `/v1/commands/${body.commandId}`, headers: bearer() });
      expect(command.body).toMatchObject({ result: 'applied', orderId: expect.any(String) });
      return command.body;
    },
    { deadlineMs: 2 * minutes, everyMs: 250 },
  );
}

/** The updates of an order on Kafka, read from this machine by the published port. */
async function readFromKafka(command: { commandId: string; orderId: string }): Promise<unknown[]> {
  return eventually(
    async () => {
      const found: unknown[] = [];
      const options = {
        kafka: kafkaOptions([`127.0.0.1:${project.ports.PORT_KAFKA}`]),
        topic: 'tidemark.order-updates.v1',
      };
      const records = readTopic(kafkaDeps, {
        ...{ ...options, from: 'beginning', readCommitted: true, until: 'end' },
        signal: AbortSignal.timeout(30_000),
      });
      for await (const { key, value } of records)
        if (key === `account:${command.orderId}`) found.push(JSON.parse(value ?? ''));
      if (found.length === 0) throw new Error(`${command.orderId} is not on Kafka`);
      return found;
    },
    { deadlineMs: 2 * minutes, everyMs: 250 },
  );
}

describe('docker-compose.yml on an engine', () => {
  it('comes up: the jobs end with 0, and every service that goes on is healthy', async () => {
    await project.do(['up', '-d'], 10 * minutes);
    await untilHealthy(longLived);
    const jobs = await Promise.all(['migrate', 'topics'].map((job) => project.one(job)));
    expect(jobs.map(({ State }) => [State.Status, State.ExitCode])).toEqual([
      ['exited', 0],
      ['exited', 0],
    ]);
  });

  it.each(['tidemark', 'sandbox'])('%s is user 1000 without a capability, and can gain none', async (service) => {
    const status = await project.exec(service, ['cat', '/proc/1/status']);
    expect(status).toMatch(/^Uid:\t1000\t1000\t1000\t1000$/m);
    for (const set of ['Inh', 'Prm', 'Eff', 'Bnd', 'Amb']) expect(status).toMatch(new RegExp(`^Cap${set}:\\t0+$`, 'm'));
    expect(status).toMatch(/^NoNewPrivs:\t1$/m);
  });

  it('no server is root in the end', async () => {
    for (const service of longLived) {
      const { Id } = await project.one(service);
      // A health check begins as the engine's own `runc init`, which is root
      // for a moment before it becomes the check.
      await eventually(async () => {
        const [, ...processes] = (await project.docker(['top', Id, '-eo', 'uid,pid,args'])).trim().split('\n');
        expect(processes.length).toBeGreaterThan(0);
        expect(processes.filter((line) => /^\s*0\s/.test(line))).toEqual([]);
      });
    }
  });

  it('the service can write to no file but in /tmp', async () => {
    const script =
      "for (const to of ['/app/x', '/home/node/x', '/var/tmp/x', '/tmp/x']) try { require('fs').writeFileSync(to, ''); console.log(to, 'written') } catch (error) { console.log(to, error.code) }";
    const said = await project.exec('tidemark', ['node', '-e', script]);
    expect(said.trim().split('\n')).toEqual([
      '/app/x EROFS',
      '/home/node/x EROFS',
      '/var/tmp/x EROFS',
      '/tmp/x written',
    ]);
  });

  it('REST refuses a caller without a token, and takes the one that `token add` made', async () => {
    const said = await project.do(
      [
        ...['run', '--rm', '--no-deps', '-T', 'migrate', 'token', 'add', 'me', '--all-accounts', '--json'],
        ...['--scopes', 'orders:read,orders:write,ops:read,ops:write'],
      ],
      1 * minutes,
    );
    ({ token } = JSON.parse(said));
    expect((await rest().ask({ method: 'GET', path: '/v1/accounts' })).status).toBe(401);
    await eventually(
      async () =>
        expect((await rest().ask({ method: 'GET', path: '/v1/accounts', headers: bearer() })).status).toBe(200),
      {
        deadlineMs: 1 * minutes,
        everyMs: 500,
      },
    );
  });

  it('an order that was placed by REST is read from Kafka on this machine', async () => {
    first = await placeOrder();
    expect(await readFromKafka(first)).toContainEqual(expect.objectContaining({ revision: 1 }));
  });

  it('a service that is killed starts again, knows what it knew, and goes on', async () => {
    const before = await project.one('tidemark');
    await killService(project);
    await eventually(async () => expect((await project.one('tidemark')).RestartCount).toBe(before.RestartCount + 1), {
      deadlineMs: 2 * minutes,
      everyMs: 250,
    });
    await untilHealthy(['tidemark']);
    const known = await rest().ask({ method: 'GET', path: `/v1/orders/account/${first.orderId}`, headers: bearer() });
    expect([known.status, known.body.orderId]).toEqual([200, first.orderId]);
    expect(await readFromKafka(await placeOrder())).not.toEqual([]);
  });

  it('with the profile `observability` Prometheus finds the service up, and takes every rule', async () => {
    if (!grafana) say('NOT PROVEN: grafana, of which there is no image: Prometheus alone is started');
    await project.do(['--profile', 'observability', 'up', '-d', ...watching], 10 * minutes);
    await untilHealthy(watching);
    const rules = readdirSync('grafana/prometheus/rules').map((file) =>
      readFileSync(`grafana/prometheus/rules/${file}`, 'utf8'),
    );
    const written = rules.join('\n').match(/^ +- (alert|record):/gm)?.length ?? 0;
    await eventually(
      async () => {
        const { activeTargets } = await askPrometheus('targets');
        expect(activeTargets).toMatchObject([{ scrapeUrl: 'http://tidemark:9464/metrics', health: 'up' }]);
        const { groups } = await askPrometheus('rules');
        const health = groups.flatMap((group: { rules: { health: string }[] }) =>
          group.rules.map((rule) => rule.health),
        );
        expect([health.length, new Set(health)]).toEqual([written, new Set(['ok'])]);
      },
      { deadlineMs: 2 * minutes, everyMs: 1_000 },
    );
  });

  it('nothing has met its limit of memory, and nothing but the killed service was started again', async () => {
    const all = await Promise.all(
      [...longLived, ...watching].map(async (service) => ({ service, it: await project.one(service) })),
    );
    expect(all.filter(({ it }) => it.State.OOMKilled).map(({ service }) => service)).toEqual([]);
    expect(all.filter(({ it }) => it.RestartCount > 0).map(({ service }) => service)).toEqual(['tidemark']);
    const used = await project.docker([
      'stats',
      '--no-stream',
      '--format',
      '{{.Name}} {{.MemUsage}}',
      ...all.map(({ it }) => it.Id),
    ]);
    for (const line of used.trim().split('\n')) say(`memory: ${line}`);
  });

  it('goes down in good order: the service drains and ends with 0', async () => {
    const since = systemClock.nowMs();
    await project.do(['--profile', 'observability', 'down'], 5 * minutes);
    const exits = await project.exits(since);
    // 143: the virtual machine's answer to TERM after it has stopped well.
    expect(exits).toMatchObject({ postgres: 0, kafka: 143, sandbox: 0, tidemark: 0, prometheus: 0 });
    expect(await project.ids()).toEqual([]);
  });

  it('comes up again with the data that it had', async () => {
    await project.do(['up', '-d'], 10 * minutes);
    await untilHealthy(longLived);
    const known = await rest().ask({ method: 'GET', path: `/v1/orders/account/${first.orderId}`, headers: bearer() });
    expect([known.status, known.body.orderId]).toEqual([200, first.orderId]);
    expect(await readFromKafka(first)).not.toEqual([]);
  });

  it('`down --volumes` leaves nothing behind', async () => {
    await project.do(['--profile', 'observability', 'down', '--volumes'], 5 * minutes);
    expect([await project.ids(), await project.leftovers()]).toEqual([[], []]);
  });
});

// biome-ignore lint/suspicious/noExplicitAny: read as a stranger's client would
async function askPrometheus(path: string): Promise<any> {
  const response = await fetch(`http://127.0.0.1:${project.ports.PORT_PROMETHEUS}/api/v1/${path}`, {
    signal: AbortSignal.timeout(20_000),
  });
  const { data } = (await response.json()) as { data: unknown };
  return data;
}
