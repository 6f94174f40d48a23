import type { Config } from '../../config/config.ts';
import { encodeOrder } from '../../domain/encode-update.ts';
import { orderKey } from '../../domain/order.ts';
import { postgresFleetActions } from '../../store/fleet/fleet-actions.ts';
import type { OrderReads } from '../../store/orders/order-reads.ts';
import { UndiciHttp } from '../../venue/platform/undici-http.ts';
import { AuditTrail } from '../commands/audit-trail.ts';
import type { HeldShards } from '../fleet/held-shards.ts';
import type { Ingest } from '../orders/ingest.ts';
import { maySee } from '../rest/auth/principal.ts';
import { ConsoleSite } from '../rest/console/console-site.ts';
import { Forwarding } from '../rest/instances/forwarding.ts';
import { readGateDefaults } from '../rest/read-gate.ts';
import { RestServer, type RestServerOptions } from '../rest/rest-server.ts';
import type { RestParts } from '../rest/route.ts';
import { streamHubDefaults } from '../rest/stream/stream-hub.ts';
import type { Joined } from './fleet-parts.ts';

/** Sockets at once, including those for the stream. */
const maxConnections = 2000;
/** The largest answers have some megabytes. A connection too slow for them is no use to a desk. */
const takeAnswerMs = 30_000;
/** Requests waiting for one other instance. */
const mostForwards = 64;
/**
 * A silent instance loses its lane after some time. A caller waits for its answer for this part of
 * that time, so not until the others have taken over.
 */
const silentPart = 0.8;
/** A dead instance's shards are taken over within this part of that time. */
const takenPart = 1.5;
/** The takeover of a shard that moves is over by then; no caller wants its place sent later. */
const movedPart = 0.6;
/** Longer than any route's answer; a command may be tried for its whole deadline before. */
const forwardMs = 60_000;

/** REST as it is configured. Without any sign-in it binds to loopback only. */
export function restServer(
  made: Joined,
  own: Pick<RestParts, 'fetch' | 'service' | 'accountStates'>,
  config: Config,
): RestServer {
  const { clock, random, log, metrics, tracing, version, store, watches, commands, fleet, holder: instance } = made;
  const deps = { clock, random, log, metrics, tracing, ...own };
  const { console, consoleDemoUrl: url } = config;
  const { commandReads, deadLetters, repairs, principals, journal, pool } = store;
  const reads = heldOrderReads(store.reads, made.way.ingest, made.way.held);
  const http = new UndiciHttp(deps, {
    connectMs: 1_000,
    totalMs: forwardMs + config.commandDeadlineMs,
    connections: mostForwards,
  });
  return new RestServer(
    {
      ...deps,
      reads,
      commandReads,
      deadLetters,
      repairs,
      commands: commands.service,
      sharedClock: watches.sharedClock,
      fleet: postgresFleetActions({ ...deps, pool }, config.leaseTtlMs),
      forwarding: new Forwarding(
        { ...deps, http, others: fleet.directory, metrics: metrics.rest },
        {
          instance,
          mostInFlight: mostForwards,
          answerWithinMs: config.leaseTtlMs * silentPart,
          actWaitMs: config.leaseTtlMs * takenPart,
          orderWaitMs: config.leaseTtlMs * movedPart,
        },
      ),
      auditTrail: new AuditTrail({ ...deps, journal }),
      ...(config.authPrincipals === 'on' && { principals, tokenChanges: store.changes.readerOf('tokens') }),
      ...(console === 'on' && {
        console: new ConsoleSite(deps, { demo: url !== undefined, ...consoleSignIn(config) }),
      }),
      ...(url !== undefined && { demo: { ...deps, url } }),
    },
    {
      host: config.httpHost,
      port: config.httpPort,
      version,
      auth: signIn(config),
      origins: config.httpOrigins ?? [],
      maxConnections,
      stream: streamHubDefaults,
      readGate: readGateDefaults,
      takeAnswerMs,
    },
  );
}

/** The console's readers sign in at the issuer once it knows the console as a client. */
function consoleSignIn({ authIssuer, authAudience, consoleClientId, consoleScope, consoleResource }: Config) {
  if (authIssuer === undefined || authAudience === undefined || consoleClientId === undefined) return {};
  const resource = consoleResource === undefined ? {} : { resource: consoleResource };
  return {
    signIn: { issuer: authIssuer, audience: authAudience, clientId: consoleClientId, scope: consoleScope, ...resource },
  };
}

function signIn({
  authIssuer,
  authAudience,
  authJwksUrl,
  authAlgorithms,
  authTyp,
  authTokens,
}: Config): RestServerOptions['auth'] {
  // The configuration's rules make sure that the three are set together.
  const complete = authIssuer !== undefined && authAudience !== undefined && authJwksUrl !== undefined;
  return {
    ...(complete && {
      jwt: {
        issuer: authIssuer,
        audience: authAudience,
        jwksUrl: authJwksUrl,
        algorithms: authAlgorithms,
        typ: authTyp,
      },
    }),
    ...(authTokens !== undefined && { tokens: authTokens }),
  };
}

/**
 * Reads of single orders from memory, where this process holds their shard; all else from the
 * database. Both show the same: memory has what was committed, and nothing that is under way.
 */
export function heldOrderReads(
  reads: OrderReads,
  ingest: Pick<Ingest, 'openOrder'>,
  held: Pick<HeldShards, 'follows'>,
): OrderReads {
  return {
    ...reads,
    getOrder: async (scope, stream, orderId) => {
      const { order, revision, sourceVersion } = ingest.openOrder(orderKey(stream, orderId)) ?? {};
      // A shard that was given away leaves its orders behind in memory.
      if (order === undefined || revision === undefined || !held.follows(order.accountId))
        return reads.getOrder(scope, stream, orderId);
      const { accountId } = order;
      if (!maySee(scope, accountId)) return undefined;
      return { stream, orderId, accountId, revision, sourceVersion, state: encodeOrder(order) };
    },
  };
}
