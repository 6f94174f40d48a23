import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { freePort } from '../../src/demo/devstack/free-port.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import type { ComposeCommand } from './compose-command.ts';
import { overrideFor } from './images.ts';
import { run, say } from './run.ts';

/** The ports of docker-compose.yml by their variables. */
export const publishedPorts = {
  PORT_REST: 8080,
  PORT_ADMIN: 9464,
  PORT_KAFKA: 9094,
  PORT_SANDBOX: 4600,
  PORT_SANDBOX_STAGING: 4601,
  PORT_SANDBOX_AUTH: 4602,
  PORT_SANDBOX_CONTROL: 4603,
  PORT_PROMETHEUS: 9090,
  PORT_GRAFANA: 3000,
} as const;

/** What the engine says of a container; only what is asked here. */
interface Inspected {
  readonly Id: string;
  readonly RestartCount: number;
  readonly State: {
    readonly Status: string;
    readonly ExitCode: number;
    readonly OOMKilled: boolean;
    readonly Health?: { readonly Status: string; readonly Log: readonly { readonly Output: string }[] };
  };
}

/**
 * docker-compose.yml as it is, but for stand-ins, under a name, passwords and, where its own are
 * taken, ports that are this test's.
 */
export class ComposeProject {
  readonly name = `tidemark-test-${randomBytes(4).toString('hex')}`;
  readonly ports: Readonly<Record<keyof typeof publishedPorts, number>>;
  private readonly compose: readonly [string, ...string[]];
  private readonly env: Readonly<Record<string, string>>;

  private constructor(compose: ComposeProject['compose'], host: string, ports: ComposeProject['ports']) {
    this.compose = compose;
    this.ports = ports;
    const passwords = ['POSTGRES_PASSWORD', 'SERVICE_PASSWORD', 'GRAFANA_ADMIN_PASSWORD'].map((variable) => [
      variable,
      randomBytes(24).toString('hex'),
    ]);
    const numbers = Object.entries(ports).map(([variable, port]) => [variable, String(port)]);
    this.env = {
      ...Object.fromEntries([...passwords, ...numbers]),
      DOCKER_HOST: host,
      COMPOSE_PROJECT_NAME: this.name,
    };
  }

  /** `folder`: where a file may be written that lives as long as this. */
  static async plan(
    compose: ComposeCommand,
    host: string,
    { standIns, folder }: { standIns: readonly string[]; folder: string },
  ): Promise<ComposeProject> {
    const ports: Record<string, number> = {};
    for (const [variable, port] of Object.entries(publishedPorts)) {
      ports[variable] = (await isFree(port)) ? port : await freePort();
      if (ports[variable] !== port) say(`port: ${port} is taken, ${variable}=${ports[variable]}`);
    }
    const override = overrideFor(standIns);
    if (override === undefined) return new ComposeProject(compose, host, ports as ComposeProject['ports']);
    const path = join(folder, 'stand-ins.json');
    await writeFile(path, JSON.stringify(override));
    return new ComposeProject(
      [...compose, '-f', 'docker-compose.yml', '-f', path],
      host,
      ports as ComposeProject['ports'],
    );
  }

  /** `docker compose …`, resolved with what it says. */
  do(args: readonly string[], limitMs: number): Promise<string> {
    return run([...this.compose, ...args], { limitMs, env: this.env });
  }

  /** A command in a running container. */
  async exec(service: string, command: readonly string[]): Promise<string> {
    return this.docker(['exec', (await this.one(service)).Id, ...command]);
  }

  docker(args: readonly string[], limitMs = 60_000): Promise<string> {
    return run(['docker', ...args], { limitMs, env: this.env });
  }

  /** The container of a service, running or not. Rejects where there is none, or several. */
  async one(service: string): Promise<Inspected> {
    const ids = await this.ids([`label=com.docker.compose.service=${service}`]);
    if (ids.length !== 1) throw new Error(`${service} has ${ids.length} containers`);
    const [found]: Inspected[] = JSON.parse(await this.docker(['inspect', ids[0] ?? '']));
    if (found === undefined) throw new Error(`${service} is gone`);
    return found;
  }

  /** Containers of this project. */
  async ids(filters: readonly string[] = []): Promise<string[]> {
    const all = [`label=com.docker.compose.project=${this.name}`, ...filters].flatMap((filter) => ['--filter', filter]);
    return (await this.docker(['ps', '--all', '--quiet', '--no-trunc', ...all])).split('\n').filter((id) => id !== '');
  }

  /**
   * The exit code of each service that ended since then, milliseconds since the epoch, also of
   * those that were removed.
   */
  async exits(sinceMs: number): Promise<Record<string, number>> {
    const span = ['--since', (sinceMs / 1000).toFixed(3), '--until', (systemClock.nowMs() / 1000).toFixed(3)];
    const filters = ['--filter', 'event=die', '--filter', `label=com.docker.compose.project=${this.name}`];
    const lines = (await this.docker(['events', ...span, ...filters, '--format', '{{json .Actor.Attributes}}'])).trim();
    const ended: Record<string, string>[] = lines.split('\n').map((line) => JSON.parse(line));
    return Object.fromEntries(ended.map((it) => [it['com.docker.compose.service'], Number(it['exitCode'])]));
  }

  /** Volumes and networks of this project that are there. */
  async leftovers(): Promise<string[]> {
    const filter = ['--filter', `label=com.docker.compose.project=${this.name}`, '--quiet'];
    const said = await Promise.all(['volume', 'network'].map((kind) => this.docker([kind, 'ls', ...filter])));
    return said.flatMap((text) => text.split('\n')).filter((name) => name !== '');
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
