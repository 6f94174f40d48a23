import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../../src/demo/devstack/free-port.ts';
import { GuardedProcess } from '../../../src/demo/devstack/guarded-process.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { eventually } from '../runs/poll.ts';

interface PrometheusOptions {
  readonly targets: readonly {
    /** `host:port`. */
    readonly address: string;
    /** The label `instance`. Left out: the address. */
    readonly instance?: string;
  }[];
  /**
   * Between two scrapes, and between two judgements of the rules.
   * The committed configuration has ten.
   */
  readonly everySeconds: number;
}

interface StartedPrometheus {
  /** Address of its HTTP interface. */
  readonly base: string;
  stop(): Promise<void>;
}

/**
 * A real Prometheus with the committed configuration and rules, but other targets and intervals.
 * The program must be there (`ensureProgram('prometheus')`).
 */
export async function startPrometheus(options: PrometheusOptions): Promise<StartedPrometheus> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-prometheus-'));
  await cp('grafana/prometheus', folder, { recursive: true });
  const config = join(folder, 'prometheus.yml');
  await writeFile(config, changed(await readFile(config, 'utf8'), options));
  const port = await freePort();
  const lines: string[] = [];
  const guarded = await GuardedProcess.start(
    { clock: systemClock },
    {
      command: [
        'prometheus',
        `--config.file=${config}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      name: 'Prometheus',
      folder,
      stopSignal: 'TERM',
      patienceMs: 10_000,
      onLine: (line) => lines.push(line),
    },
  );
  const base = `http://127.0.0.1:${port}`;
  const isReady = async () => {
    const response = await fetch(`${base}/-/ready`);
    if (!response.ok) throw new Error(`Prometheus is not ready: ${response.status}\n${lines.slice(-10).join('\n')}`);
  };
  try {
    await eventually(isReady, { deadlineMs: 60_000, everyMs: 100 });
  } catch (error) {
    await guarded.stop();
    throw error;
  }
  return { base, stop: () => guarded.stop() };
}

/** Throws when the configuration no longer reads as expected. */
function changed(config: string, { targets, everySeconds }: PrometheusOptions): string {
  const scraped = targets.map(
    ({ address, instance = address }) => `{ targets: ['${address}'], labels: { instance: '${instance}' } }`,
  );
  let text = config;
  for (const [from, to] of [
    ['- targets: [tidemark:9464]', scraped.map((each) => `- ${each}`).join('\n      ')],
    ['scrape_interval: 10s', `scrape_interval: ${everySeconds}s`],
    ['scrape_timeout: 5s', `scrape_timeout: ${everySeconds}s`],
    ['evaluation_interval: 10s', `evaluation_interval: ${everySeconds}s`],
  ] as const) {
    if (!text.includes(from)) throw new Error(`prometheus.yml has no ${from}`);
    text = text.replace(from, to);
  }
  return text;
}
