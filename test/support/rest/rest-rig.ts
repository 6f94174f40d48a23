import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { Logger } from '../../../src/observability/logger.ts';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { type Clock, systemClock } from '../../../src/runtime/clock.ts';
import { type Random, systemRandom } from '../../../src/runtime/random.ts';
import type { OtherInstances } from '../../../src/service/fleet/other-instances.ts';
import type { ConsoleSignInOptions } from '../../../src/service/rest/console/console-sign-in.ts';
import { ConsoleSite } from '../../../src/service/rest/console/console-site.ts';
import { Forwarding } from '../../../src/service/rest/instances/forwarding.ts';
import { readGateDefaults } from '../../../src/service/rest/read-gate.ts';
import { RestServer, type RestServerOptions } from '../../../src/service/rest/rest-server.ts';
import type { RestParts } from '../../../src/service/rest/route.ts';
import type { FollowedAccount } from '../../../src/service/rest/service-view.ts';
import { streamHubDefaults } from '../../../src/service/rest/stream/stream-hub.ts';
import type { AuditTrailEntry } from '../../../src/store/commands/command-journal.ts';
import type { PrincipalStore } from '../../../src/store/principals.ts';
import { UndiciHttp } from '../../../src/venue/platform/undici-http.ts';
import { ScriptedCommands } from '../commands/scripted-commands.ts';
import { MemoryDeadLetters } from '../orders/memory-dead-letters.ts';
import { MemoryFleetActions } from '../orders/memory-fleet-actions.ts';
import { MemoryReads } from '../orders/memory-reads.ts';
import { MemoryRepairs } from '../orders/memory-repairs.ts';
import { silentLog } from '../runs/silent-log.ts';
import { MemoryService } from './memory-service.ts';

export interface RestRigOptions extends Partial<Omit<RestServerOptions, 'stream' | 'readGate'>> {
  readonly readGate?: Partial<RestServerOptions['readGate']>;
  readonly stream?: Partial<RestServerOptions['stream']>;
  readonly log?: Logger;
  readonly clock?: Clock;
  readonly principals?: PrincipalStore;
  /** Serves the console as well; `signIn`: its readers sign in at this issuer. */
  readonly withConsole?: boolean | { readonly signIn: ConsoleSignInOptions };
  /** "Break it" of a demo, by its address. */
  readonly demoUrl?: string;
  readonly instance?: string;
  /** Left out: it knows no other instance. */
  readonly others?: OtherInstances;
  /**
   * How many forwards may be in flight, how long each may take, and for how long a request is asked
   * again while no instance holds its account (left out: it is not).
   */
  readonly forwards?: { readonly most?: number; readonly ms?: number; readonly againMs?: number };
  /** Instead of those that live in memory. */
  readonly ports?: Partial<
    Pick<RestParts, 'commands' | 'reads' | 'commandReads' | 'deadLetters' | 'tracing' | 'sharedClock'>
  >;
}

const longest: Random = { ...systemRandom, next: () => 1 };

/** Forwards over real sockets. */
export function forwardingOf(
  options: Pick<RestRigOptions, 'instance' | 'others' | 'forwards'>,
  metrics = createMetrics(),
) {
  const { instance = 'one', others = { holderOf: () => undefined, all: () => [] }, forwards = {} } = options;
  const http = new UndiciHttp({ clock: systemClock }, { totalMs: forwards.ms ?? 5_000 });
  return new Forwarding(
    // The longest pauses: a test counts how often something is asked.
    { http, others, clock: systemClock, random: longest, metrics: metrics.rest, log: silentLog },
    {
      ...{ instance, mostInFlight: forwards.most ?? 64, answerWithinMs: forwards.ms ?? 5_000 },
      actWaitMs: forwards.againMs ?? 0,
      orderWaitMs: forwards.againMs ?? 0,
    },
  );
}

/** A REST server on a real port, over ports that live in memory. */
export async function startRest(options: RestRigOptions = {}) {
  const {
    stream,
    readGate,
    log = silentLog,
    clock = systemClock,
    principals,
    ports,
    withConsole,
    demoUrl,
    ...rest
  } = options;
  const { instance: _instance, others: _others, forwards: _forwards, ...over } = rest;
  const commands = new ScriptedCommands();
  const reads = new MemoryReads();
  const service = new MemoryService();
  const deadLetters = new MemoryDeadLetters();
  const fleet = new MemoryFleetActions();
  const repairs = new MemoryRepairs();
  const followed: { accounts: readonly FollowedAccount[] | undefined } = { accounts: undefined };
  const metrics = createMetrics();
  const audits: AuditTrailEntry[] = [];
  const auditTrail = { record: (entry: AuditTrailEntry) => audits.push(entry), drained: async () => undefined };
  const server = new RestServer(
    {
      ...{
        fetch,
        clock,
        random: systemRandom,
        log,
        metrics,
        commands,
        reads,
        service,
        deadLetters,
        fleet,
        auditTrail,
        commandReads: reads,
        repairs,
        ...ports,
      },
      accountStates: () => followed.accounts,
      forwarding: forwardingOf(rest, metrics),
      ...(principals !== undefined && { principals }),
      ...(withConsole && {
        console: new ConsoleSite(
          { fetch, clock, log },
          { demo: demoUrl !== undefined, ...(withConsole !== true && withConsole) },
        ),
      }),
      ...(demoUrl !== undefined && { demo: { fetch, clock, url: demoUrl } }),
    },
    {
      host: '127.0.0.1',
      port: 0,
      version: '1.2.3',
      auth: {},
      maxConnections: 200,
      takeAnswerMs: 30_000,
      ...over,
      stream: { ...streamHubDefaults, ...stream },
      readGate: { ...readGateDefaults, ...readGate },
    },
  );
  await server.start();
  return {
    server,
    commands,
    reads,
    service,
    deadLetters,
    fleet,
    repairs,
    followed,
    audits,
    metrics,
    address: server.address ?? '',
  };
}

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Undefined where the text is no JSON. */
  readonly body: Record<string, unknown>;
}

export async function ask(url: string, init: RequestInit = {}): Promise<Answered> {
  const response = await fetch(url, { redirect: 'manual', ...init });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: parsed(text) };
}

function parsed(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}

const issuer = 'https://id.example';
const audience = 'tidemark';

/** An issuer of JWTs: its keys on a real port, and one token of any claims. */
export async function startIssuer() {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const other = await generateKeyPair('ES256');
  const jwk = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256', use: 'sig' };
  const answers = { status: 200, asked: 0, keys: [jwk] };
  const http: Server = createServer((_request, response) => {
    answers.asked += 1;
    response
      .writeHead(answers.status, { 'content-type': 'application/json' })
      .end(JSON.stringify({ keys: answers.keys }));
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const { port } = http.address() as AddressInfo;

  /**
   * Claims over those of a token that may do everything with every account, for an hour, and header
   * fields. Those that are undefined are left out.
   */
  const sign = (over: Record<string, unknown> = {}, header: Record<string, unknown> = {}, key = privateKey) => {
    const now = Math.floor(systemClock.nowMs() / 1000);
    const claims = {
      iss: issuer,
      aud: audience,
      sub: 'caller',
      exp: now + 3600,
      scope: 'orders:read orders:write ops:read ops:write',
      accounts: ['*'],
      ...over,
    };
    return new SignJWT(presentOf(claims))
      .setProtectedHeader(presentOf({ alg: 'ES256', typ: 'at+jwt', kid: 'one', ...header }))
      .sign(key);
  };
  return {
    sign,
    signWithOtherKey: (over: Record<string, unknown> = {}) => sign(over, {}, other.privateKey),
    /** Signed by nobody: `alg` none. */
    unsigned: () => {
      const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
      const now = Math.floor(systemClock.nowMs() / 1000);
      const claims = {
        iss: issuer,
        aud: audience,
        sub: 'caller',
        exp: now + 3600,
        scope: 'orders:read',
        accounts: ['*'],
      };
      return `${part({ alg: 'none', typ: 'JWT' })}.${part(claims)}.`;
    },
    answers,
    jwt: { issuer, audience, jwksUrl: `http://127.0.0.1:${port}/keys`, algorithms: ['ES256'], typ: 'at+jwt' as const },
    stop: () =>
      new Promise<void>((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
}

function presentOf<T extends object>(entries: T): T {
  return Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== undefined)) as T;
}

export function sha256(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
