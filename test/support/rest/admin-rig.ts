import { EventLoopWatch } from '../../../src/observability/event-loop-watch.ts';
import { HealthRegistry } from '../../../src/observability/health.ts';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { AdminServer } from '../../../src/service/rest/admin-server.ts';
import { silentLog } from '../runs/silent-log.ts';

/**
 * An admin port of a service without parts, closed with `stops`. Returns its address, by loopback
 * where it listens everywhere.
 */
export async function startAdmin(
  stops: (() => Promise<unknown>)[],
  { host = '127.0.0.1', names = [] }: { readonly host?: string; readonly names?: readonly string[] } = {},
): Promise<string> {
  const server = new AdminServer(
    {
      clock: systemClock,
      log: silentLog,
      metrics: createMetrics(),
      health: new HealthRegistry({ clock: systemClock }, { checkDeadlineMs: 1000, maxAgeMs: 0 }),
      eventLoop: new EventLoopWatch({ clock: systemClock }, { sampleEveryMs: 500, lateMs: 60_000, lateInARow: 10 }),
      status: () => ({}),
    },
    { host, names, port: 0 },
  );
  await server.start();
  stops.push(() => server.drain());
  return `http://127.0.0.1:${new URL(server.address ?? '').port}`;
}
