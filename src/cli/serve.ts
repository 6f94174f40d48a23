import { Command } from 'commander';
import type { Config, EffectiveValue } from '../config/config.ts';
import { optionTable } from '../config/option-table.ts';
import { unencryptedAddresses } from '../config/unencrypted.ts';
import { venuesNeed } from '../config/venue-options.ts';
import type { Logger } from '../observability/logger.ts';
import type { OpenedTracing } from '../observability/open-tracing.ts';
import type { ProgramError } from '../runtime/program-error.ts';
import { Proxies } from '../runtime/proxies.ts';
import { httpAddress, isLoopbackHost } from '../runtime/url-host.ts';
import { assembleService } from '../service/run/assemble-service.ts';
import { verdictOf } from './healthcheck.ts';
import type { CliIo } from './io/io.ts';
import { configError, readSettings, serviceLogger } from './io/read-config.ts';
import { askAdmin } from './rest/admin-port.ts';

const examples = `
Examples:
  $ tidemark migrate && tidemark topics apply && tidemark serve
  $ DATABASE_URL=… KAFKA_BROKERS=… PLATFORM_URL=… PLATFORM_STREAM_URL=… PLATFORM_CLIENT_ID=… PLATFORM_CLIENT_SECRET_FILE=… tidemark serve

It runs until SIGTERM, drains, and ends with 0; a second signal ends it at once, which loses nothing. \`tidemark config docs\` lists every setting.`;

/** The service itself. */
export function serveCommand(io: CliIo): Command {
  return new Command('serve')
    .description(
      'Follows the order streams, keeps the newest state of every order in Postgres, and feeds every accepted change to Kafka.',
    )
    .addHelpText('after', examples)
    .action(() => runServe(io));
}

/**
 * At least one way to get a token is needed. The settings choose among
 * them, so no single variable is required.
 */
function requireCredential({ platformCredentials, platformClientSecret, encryptionKey }: Config): void {
  if (platformCredentials === 'client' && platformClientSecret === undefined)
    throw unset('PLATFORM_CLIENT_SECRET', ', and PLATFORM_CREDENTIALS asks for the client alone');
  if (platformCredentials === 'linked' && encryptionKey === undefined)
    throw unset('TIDEMARK_ENCRYPTION_KEY', ` (${optionTable.encryptionKey.kind}): linked logins are stored encrypted`);
  if (platformCredentials === 'both' && platformClientSecret === undefined && encryptionKey === undefined)
    throw unset('PLATFORM_CLIENT_SECRET', ', and neither is TIDEMARK_ENCRYPTION_KEY for linked logins');
}

function unset(name: string, why: string): ProgramError {
  return configError([{ name, problem: `is not set${why}` }]);
}

/** Undefined: they are off. The SDK is loaded only if they are on: it takes 40 ms and 10 MB. */
async function openTraces(
  { clock, random, version }: CliIo,
  config: Config,
  log: Logger,
): Promise<OpenedTracing | undefined> {
  const { otlpEndpoint: endpoint } = config;
  if (endpoint === undefined) return undefined;
  const { openTracing } = await import('../observability/open-tracing.ts');
  return openTracing(
    { clock, random, log, proxies: new Proxies(config) },
    {
      endpoint,
      headers: config.otlpHeaders,
      serviceName: config.otelServiceName,
      version,
      sampler: config.tracesSampler,
      ratio: Number(config.tracesSamplerArg),
    },
  );
}

async function runServe(io: CliIo): Promise<void> {
  const { config, effective } = readSettings(io, ['databaseUrl', 'kafkaBrokers'], venuesNeed);
  if (config.venues.includes('platform')) requireCredential(config);
  const log = serviceLogger(io, config);
  const unencrypted = unencryptedAddresses(config);
  if (unencrypted.length > 0)
    log.warn(
      { options: unencrypted },
      'platform addresses are neither encrypted nor on loopback: others on the network can read tokens',
    );
  const { clock, random, version, fetch } = io;
  const traces = await openTraces(io, config, log);
  const ports = await portsBesideAnother({ io, log }, config, effective);
  const supervisor = assembleService(
    { clock, random, log, version, fetch, effective, traces },
    { ...config, ...ports },
  );
  const unsubscribe = io.onSignal((signal) => supervisor.stop(signal));
  const forget = io.onCrash((error) => log.fatal({ err: error }, 'an uncaught error'));
  io.exit(await supervisor.run());
  unsubscribe();
  forget();
}

const answerWithinMs = 1000;

type Ports = Pick<Config, 'adminHost' | 'adminPort' | 'httpHost' | 'httpPort'>;

/**
 * The ports for a second service on one machine with the settings of the first, for trying a fleet.
 * If no setting names a port and another Tidemark has the admin port, this one takes any free
 * ports. On loopback only: elsewhere a moving port would not be found. Another program on the port,
 * or a named port in use, stays a fault, and the start shows it.
 */
export async function portsBesideAnother(
  { io, log }: { readonly io: Pick<CliIo, 'fetch' | 'clock'>; readonly log: Logger },
  ports: Ports,
  effective: readonly EffectiveValue[],
): Promise<Partial<Ports>> {
  const isFree = (name: 'adminPort' | 'httpPort', host: string) =>
    isLoopbackHost(host) && effective.some(({ env, source }) => env === optionTable[name].env && source === 'default');
  if (!isFree('adminPort', ports.adminHost)) return {};
  const address = httpAddress(ports.adminHost, ports.adminPort);
  const answer = await askAdmin(io, address, '/livez', { withinMs: answerWithinMs }).catch(() => undefined);
  if (verdictOf(answer?.body) === undefined) return {};
  const moves = (['adminPort', 'httpPort'] as const).filter(
    (name) => name === 'adminPort' || isFree(name, ports.httpHost),
  );
  log.warn(
    { address, settings: moves.map((name) => optionTable[name].env) },
    'another Tidemark has this port: this one takes free ports in place of those that these settings name, which follow',
  );
  return Object.fromEntries(moves.map((name) => [name, 0]));
}
