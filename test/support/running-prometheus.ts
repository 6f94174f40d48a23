import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { freePort } from '../../src/devstack/free-port.ts';
import { GuardedProcess } from '../../src/devstack/guarded-process.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { eventually } from './poll.ts';

/** A rule as Prometheus judges it. */
interface JudgedRule {
  readonly name: string;
  readonly health: string;
  readonly lastError?: string;
  readonly state?: string;
}

/**
 * A real Prometheus with the committed configuration and rules, scraping one target every second instead of every ten. Ended with the test. The program must
 * be there (`ensureProgram('prometheus')`).
 */
export class RunningPrometheus {
  private readonly base: string;
  private readonly startedMs = systemClock.nowMs();

  private constructor(base: string) {
    this.base = base;
  }

  /** `target` is `host:port`. */
  static async start(target: string): Promise<RunningPrometheus> {
    const folder = await mkdtemp(join(tmpdir(), 'tidemark-prometheus-'));
    await cp('grafana/prometheus', folder, { recursive: true });
    const config = join(folder, 'prometheus.yml');
    await writeFile(config, quicker(await readFile(config, 'utf8'), target));
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
    onTestFinished(() => guarded.stop());
    const prometheus = new RunningPrometheus(`http://127.0.0.1:${port}`);
    await eventually(
      async () => {
        const response = await fetch(`${prometheus.base}/-/ready`);
        if (!response.ok) throw new Error(`Prometheus is not ready: ${response.status}\n${lines.slice(-10).join('\n')}`);
      },
      { deadlineMs: 60_000, everyMs: 100 },
    );
    return prometheus;
  }

  /** Every value of every series of an expression since the start, as numbers; NaN and infinities among them. Throws when it is refused. */
  async values(expr: string): Promise<number[]> {
    const nowMs = systemClock.nowMs();
    const query = { query: expr, start: String(this.startedMs / 1000), end: String(nowMs / 1000), step: '1' };
    const { result } = await this.ask<{ result: { values: [number, string][] }[] }>('query_range', query);
    return result.flatMap(({ values }) => values.map(([, value]) => Number(value.replace('Inf', 'Infinity'))));
  }

  async rules(): Promise<JudgedRule[]> {
    const { groups } = await this.ask<{ groups: { rules: JudgedRule[] }[] }>('rules', {});
    return groups.flatMap(({ rules }) => rules);
  }

  private async ask<Data>(path: string, query: Record<string, string>): Promise<Data> {
    const response = await fetch(`${this.base}/api/v1/${path}?${new URLSearchParams(query)}`);
    const body = (await response.json()) as { status: string; error?: string; data: Data };
    if (body.status !== 'success') throw new Error(`${query['query']}: ${body.error}`);
    return body.data;
  }
}

/** The committed configuration with another target and shorter intervals. Throws when it no longer reads as expected. */
function quicker(config: string, target: string): string {
  let text = config;
  for (const [from, to] of [
    ['[tidemark:9464]', `['${target}']`],
    ['scrape_interval: 10s', 'scrape_interval: 1s'],
    ['scrape_timeout: 5s', 'scrape_timeout: 1s'],
    ['evaluation_interval: 10s', 'evaluation_interval: 1s'],
  ] as const) {
    if (!text.includes(from)) throw new Error(`prometheus.yml has no ${from}`);
    text = text.replace(from, to);
  }
  return text;
}
