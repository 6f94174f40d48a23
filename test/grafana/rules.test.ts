import { execFileSync, spawn } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { alerts } from '../../grafana/source/generated-files.ts';
import { freePort } from '../../src/demo/devstack/free-port.ts';
import { eventually } from '../support/runs/poll.ts';
import { ensureProgram } from '../support/servers/debian-package.ts';

/** Alerts of operations that must be there, by what they do to people. */
const pages =
  'TargetDown SourceSilent SourceNeverLive AccountsUnfollowed RelayStuck CanaryStale CommandUnknown FreshnessBurn TokenExpiring NoLaneHolder ShardsUnassigned PlacingHalted CancelAfterIncomplete CommitsLost TopicReplaced IngestStuck IssuerUnreachable';
const tickets =
  'EventsStale TopicsDiffer ClockSkewed Flapping DeadLetters SilentLosses FramesUnrecovered OrdersAbsent ResyncNotRunning QueueSaturated ProducerReplaced Unhealthy Restarting DatabaseFilling';

const testFiles = globSync('grafana/prometheus/tests/*.test.yml');

beforeAll(() => ensureProgram('promtool', 'prometheus'), 300_000);

function promtool(...args: string[]): string {
  return execFileSync('promtool', args, { encoding: 'utf8', timeout: 60_000 });
}

describe('Prometheus', () => {
  it('takes the configuration, and the rules that it names', () => {
    expect(promtool('check', 'config', 'grafana/prometheus/prometheus.yml')).toContain('2 rule files found');
  });

  it.each(testFiles)('fires and rests as %s says', (file) => {
    expect(promtool('test', 'rules', file)).toContain('SUCCESS');
  });
});

describe('the alerts', () => {
  it('are all there', () => {
    const named = (severity: string) => alerts.filter((alert) => alert.severity === severity).map(({ name }) => name);
    expect(named('page').sort()).toEqual(pages.split(' ').sort());
    expect(named('ticket').sort()).toEqual(tickets.split(' ').sort());
  });

  it('have a case in which they fire, with their words, and one in which they rest', () => {
    const cases = testFiles.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/- alertname: (\w+)\n\s+eval_time: \S+\n\s+exp_alerts:(.*)/g)].map(
        ([, name, rest]) => ({ name, fires: rest?.trim() !== '[]' }),
      ),
    );
    for (const { name } of alerts)
      for (const fires of [true, false])
        expect(
          cases.some((one) => one.name === name && one.fires === fires),
          `${name} ${fires ? 'fires' : 'rests'}`,
        ).toBe(true);
  });
});

describe('issue: When Kafka was away at the start, three pages and a ticket came for this one cause.', () => {
  // A Kafka that was away at the start paged twice for its topics, made a ticket of its producers,
  // and paged for the canary. A full disk paged for a silent stream.

  const config = 'grafana/prometheus/alertmanager.yml';
  const rule = z.object({
    source_matchers: z.array(z.string()),
    target_matchers: z.array(z.string()),
    equal: z.array(z.string()).nonempty(),
  });
  const rules = z.array(rule).parse(parse(readFileSync(config, 'utf8')).inhibit_rules ?? []);

  type Labels = Readonly<Record<string, string>> & { readonly alertname: string };
  const answer = z.array(
    z.object({
      labels: z.record(z.string(), z.string()),
      status: z.object({ state: z.string(), inhibitedBy: z.array(z.string()) }),
    }),
  );

  beforeAll(() => ensureProgram('prometheus-alertmanager'), 300_000);

  /**
   * Those of the alerts that a real Alertmanager, with the example, tells
   * somebody about, as `name` or `name label`.
   */
  async function told(firing: readonly Labels[]): Promise<string[]> {
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-alertmanager-'));
    const port = await freePort();
    const args = [`--config.file=${config}`, `--storage.path=${folder}`, `--web.listen-address=127.0.0.1:${port}`];
    const server = spawn('prometheus-alertmanager', [...args, '--cluster.listen-address='], { stdio: 'ignore' });
    onTestFinished(async () => {
      const ended = new Promise((resolve) => server.once('exit', resolve));
      server.kill('SIGKILL');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    });
    const url = `http://127.0.0.1:${port}/api/v2/alerts`;
    const post = async (posted: readonly Labels[]) => {
      const body = JSON.stringify(
        posted.map(({ ...labels }) => ({ labels: { severity: severityOf(labels.alertname), ...labels } })),
      );
      const headers = { 'content-type': 'application/json' };
      await eventually(async () => expect((await fetch(url, { method: 'POST', headers, body })).status).toBe(200));
    };
    await post(firing);
    await post(lastSeen);
    let shown: z.output<typeof answer> = [];
    // What hides others is noted in the order of arrival, by another thread than the one that
    // routes. Once it has hidden the last one, it has seen all before.
    await eventually(async () => {
      shown = answer.parse(await (await fetch(url)).json());
      expect(shown).toHaveLength(firing.length + lastSeen.length);
      expect(shown.filter(({ status }) => status.state === 'unprocessed')).toEqual([]);
      const last = shown.filter(({ labels, status }) => labels['job'] === 'last' && status.inhibitedBy.length > 0);
      expect(last).toHaveLength(1);
    });
    return shown
      .filter(({ labels, status }) => labels['job'] !== 'last' && status.inhibitedBy.length === 0)
      .map(({ labels }) => [labels['alertname'], labels['topic'] ?? labels['source']].filter(Boolean).join(' '))
      .sort();
  }

  /** Of an installation of its own: the first one hides the second. */
  const lastSeen: readonly Labels[] = [
    { alertname: 'RelayStuck', job: 'last', topic: 'updates' },
    { alertname: 'CanaryStale', job: 'last' },
  ];

  function severityOf(name: string): string {
    return alerts.find((alert) => alert.name === name)?.severity ?? 'none';
  }

  const fire = (alertname: string, labels: Readonly<Record<string, string>> = {}): Labels => ({
    alertname,
    job: 'tidemark',
    ...labels,
  });

  describe('one cause is told once', () => {
    it.each<[string, Labels[], string[]]>([
      [
        'Kafka is away',
        [
          ...['updates', 'state', 'results'].map((topic) => fire('RelayStuck', { topic })),
          ...['CanaryStale', 'FreshnessBurn'].map((name) => fire(name)),
          fire('ProducerReplaced', { reason: 'connection' }),
        ],
        ['RelayStuck updates'],
      ],
      [
        'the disk of the database is full',
        [
          ...['IngestStuck', 'QueueSaturated', 'CanaryStale', 'FreshnessBurn', 'DatabaseFilling'].map((name) =>
            fire(name),
          ),
          fire('Flapping', { source: 'account' }),
        ],
        ['DatabaseFilling', 'IngestStuck'],
      ],
      [
        'one stream is silent, and another one has a trouble of its own',
        [
          ...['SourceSilent', 'SourceNeverLive', 'Flapping'].map((name) => fire(name, { source: 'account' })),
          fire('SourceNeverLive', { source: 'prediction' }),
        ],
        ['SourceNeverLive prediction', 'SourceSilent account'],
      ],
      [
        'Kafka is away in another installation',
        [{ alertname: 'RelayStuck', job: 'tidemark-eu', topic: 'updates' }, fire('CanaryStale')],
        ['CanaryStale', 'RelayStuck updates'],
      ],
      [
        'only the state topic is stuck',
        [fire('RelayStuck', { topic: 'state' }), fire('CanaryStale')],
        ['CanaryStale', 'RelayStuck state'],
      ],
    ])('%s', async (_name, firing, expected) => expect(await told(firing)).toEqual(expected), 30_000);
  });

  describe('what hides another alert', () => {
    const names = (matchers: readonly string[]) =>
      /^alertname=~?"([\w|]+)"$/.exec(matchers.find((text) => text.startsWith('alertname')) ?? '')?.[1]?.split('|') ??
      [];

    it('is an alert that there is, as is what it hides', () => {
      expect(rules.length).toBeGreaterThan(5);
      const known = new Set(alerts.map(({ name }) => name));
      const named = rules.flatMap((each) => [names(each.source_matchers), names(each.target_matchers)]);
      expect(named.filter((list) => list.length === 0)).toEqual([]);
      expect(named.flat().filter((name) => !known.has(name))).toEqual([]);
    });

    it('pages, so that no page is hidden by a ticket, and never two alerts by each other', () => {
      const pairs = rules.flatMap((each) =>
        names(each.source_matchers).flatMap((from) => names(each.target_matchers).map((to) => [from, to] as const)),
      );
      expect(pairs.filter(([from]) => severityOf(from) !== 'page')).toEqual([]);
      const keys = new Set(pairs.map(([from, to]) => `${from} ${to}`));
      expect(pairs.filter(([from, to]) => from !== to && keys.has(`${to} ${from}`))).toEqual([]);
    });

    it('is of the same installation, whatever else it is', () => {
      for (const { equal } of rules) expect(equal).toContain('job');
    });
  });

  it('Alertmanager takes the rules', () => {
    const said = execFileSync('amtool', ['check-config', config], { encoding: 'utf8' });
    expect(said).toContain(`${rules.length} inhibit rules`);
  });
});
