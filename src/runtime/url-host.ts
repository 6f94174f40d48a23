import { isIPv6 } from 'node:net';

// An IPv6 address stands in brackets if a port may follow it (RFC 3986, section 3.2.2), and without
// them if it stands alone. Every address we print, take or guess is joined and split here.

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|::1|::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4})$/i;

/** The host without brackets, as a socket takes it: `::1` for `[::1]`. */
export function bareHost(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
}

/** The host as it stands in a URL or before a port: `[::1]` for `::1`. */
export function urlHost(host: string): string {
  return isIPv6(host) ? `[${host}]` : host;
}

/** `http://host:port`. */
export function httpAddress(host: string, port: number | string): string {
  return `http://${urlHost(bareHost(host))}:${port}`;
}

/**
 * Host (without brackets) and port from `host:port`. The port is NaN if there is none, also for an
 * IPv6 address without brackets.
 */
export function splitHostPort(text: string): { readonly host: string; readonly port: number } {
  const colon = text.lastIndexOf(':');
  if (colon === -1 || isIPv6(text) || text.endsWith(']')) return { host: bareHost(text), port: Number.NaN };
  return { host: bareHost(text.slice(0, colon)), port: Number(text.slice(colon + 1)) };
}

/**
 * The address at which a program on this machine asks a service listening on `host`. One that
 * listens on every address is asked on loopback.
 */
export function askedHost(host: string): string {
  const bare = bareHost(host);
  return bare === '0.0.0.0' ? '127.0.0.1' : canonical(bare) === '::' ? '::1' : bare;
}

/**
 * Whether `host` is an address on this machine no other machine can reach, in any spelling, with or
 * without brackets. Decides by the address and never resolves a name: a name that resolves to
 * loopback today may not do so tomorrow.
 */
export function isLoopbackHost(host: string): boolean {
  return loopback.test(canonical(bareHost(host)));
}

/** `::1` for `0:0:0:0:0:0:0:1`, and `::ffff:7f00:1` for `::ffff:127.0.0.1`. */
function canonical(host: string): string {
  return isIPv6(host) ? bareHost(URL.parse(`http://[${host}]`)?.hostname ?? host) : host;
}
