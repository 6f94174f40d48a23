import type { EffectiveValue } from '../config/config.ts';
import { optionTable } from '../config/option-table.ts';
import type { Logger } from '../observability/logger.ts';
import { httpAddress, isLoopbackHost } from '../runtime/url-host.ts';
import { verdictOf } from './healthcheck.ts';
import type { CliIo } from './io/io.ts';
import { askAdmin } from './rest/admin-port.ts';

const answerWithinMs = 1000;

interface Ports {
  readonly adminHost: string;
  readonly adminPort: number;
  readonly httpHost: string;
  readonly httpPort: number;
}

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
