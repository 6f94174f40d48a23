import { type ClientRequestArgs, Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Duplex } from 'node:stream';
import { Agent, type buildConnector, fetch as undiciFetch } from 'undici';
import { type DialDeps, dial } from './dial.ts';

/**
 * How undici opens its sockets. Fails with a `NotConnectedError`. HTTP/1.1 alone: undici sends a
 * request again that HTTP/2 refuses.
 */
export function connectorThrough(deps: DialDeps, connectMs: number): buildConnector.connector {
  return ({ protocol, host, hostname }, callback) => {
    dial(deps, new URL(`${protocol}//${host ?? hostname}`), { connectMs }).then(
      (socket) => callback(null, socket),
      (error: Error) => callback(error, null),
    );
  };
}

const fetchConnectMs = 5_000;

/** `fetch`, and through a proxy if one leads to the address. */
export function fetchThrough({ fetch: direct, ...deps }: DialDeps & { readonly fetch: typeof fetch }): typeof fetch {
  if (!deps.proxies.any) return direct;
  const dispatcher = new Agent({ connect: connectorThrough(deps, fetchConnectMs) });
  const through = async (input: Parameters<typeof fetch>[0], init?: RequestInit) => {
    const url = new URL(input instanceof Request ? input.url : input);
    if (deps.proxies.proxyFor(url) === undefined) return direct(input, init);
    // The two differ in their types only: undici's is newer than Node's own.
    return (await undiciFetch(url, { ...init, dispatcher } as Parameters<
      typeof undiciFetch
    >[1])) as unknown as Response;
  };
  return through as typeof fetch;
}

type OnSocket = (error: Error | null, socket: Duplex) => void;

/** For a `node:http` client that opens its own sockets. */
export function openThrough(deps: DialDeps, url: URL, connectMs: number) {
  return (_: ClientRequestArgs, onSocket: OnSocket): undefined => {
    dial(deps, url, { connectMs }).then(
      (socket) => onSocket(null, socket),
      (error: Error) => onSocket(error, undefined as unknown as Duplex),
    );
  };
}

/** A `node:http` agent for one address, or undefined if no proxy leads there. */
export function agentThrough(deps: DialDeps, url: URL, connectMs: number): HttpAgent | undefined {
  if (deps.proxies.proxyFor(url) === undefined) return undefined;
  const agent = url.protocol === 'https:' ? new HttpsAgent({ keepAlive: true }) : new HttpAgent({ keepAlive: true });
  return Object.assign(agent, { createConnection: openThrough(deps, url, connectMs) });
}
