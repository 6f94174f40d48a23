import { BlockList, isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { Secret } from './secret.ts';
import { bareHost, isLoopbackHost } from './url-host.ts';

/** A proxy that opens tunnels by CONNECT (RFC 9110, section 9.3.6). */
export interface ProxyServer {
  /** Without credentials. */
  readonly url: URL;
  /** `scheme://host:port`, for people: never with credentials. */
  readonly name: string;
  /** The value for `Proxy-Authorization`. */
  readonly authorization?: Secret;
}

interface ProxySettings {
  /** For `https` and `wss`; may carry credentials. Its shape was checked by `parseProxy`. */
  readonly httpsProxy?: Secret;
  /** For `http` and `ws`. */
  readonly httpProxy?: Secret;
  /** Addresses reached without one, as NO_PROXY has them: each a `Bypass` by its text. */
  readonly noProxy?: readonly string[];
}

/** Which proxy leads to an address. The rules for NO_PROXY are curl's; docs/connect.md has them. */
export class Proxies {
  private readonly secure: ProxyServer | undefined;
  private readonly plain: ProxyServer | undefined;
  private readonly bypasses: readonly Bypass[];

  constructor({ httpsProxy, httpProxy, noProxy = [] }: ProxySettings = {}) {
    this.secure = httpsProxy && parseProxy(httpsProxy.reveal());
    this.plain = httpProxy && parseProxy(httpProxy.reveal());
    this.bypasses = noProxy.map(bypassOf);
  }

  /** Whether any is set. */
  get any(): boolean {
    return this.secure !== undefined || this.plain !== undefined;
  }

  /**
   * Undefined: the address is reached without one. An address on loopback goes only through a proxy
   * also on loopback: any other would take it for its own machine.
   */
  proxyFor(url: URL): ProxyServer | undefined {
    const isSecure = isSecureUrl(url);
    const proxy = isSecure ? this.secure : this.plain;
    if (proxy === undefined) return undefined;
    if (isLoopbackHost(url.hostname) && !isLoopbackHost(proxy.url.hostname)) return undefined;
    const host = hostOf(url.hostname);
    const port = portOf(url);
    return this.bypasses.some((bypass) => (bypass.port ?? port) === port && bypass.covers(host)) ? undefined : proxy;
  }
}

export function isSecureUrl({ protocol }: URL): boolean {
  return protocol === 'https:' || protocol === 'wss:';
}

/** The address's port, or its scheme's default. */
export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return isSecureUrl(url) ? 443 : 80;
}

/**
 * `http://user:password@host:port`, or the same with `https`; without a scheme it is `http`.
 * Undefined if it is neither.
 */
export function parseProxy(text: string): ProxyServer | undefined {
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`);
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === '') return undefined;
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '') return undefined;
  const { username, password } = url;
  url.username = '';
  url.password = '';
  const name = `${url.protocol}//${url.hostname}:${portOf(url)}`;
  if (username === '' && password === '') return { url, name };
  try {
    const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    return { url, name, authorization: new Secret(`Basic ${Buffer.from(pair).toString('base64')}`) };
  } catch {
    return undefined;
  }
}

/**
 * One entry in NO_PROXY. An entry that makes no sense covers nothing, as in other programs that
 * read the variable.
 */
interface Bypass {
  readonly port?: number;
  covers(host: string): boolean;
}

function bypassOf(entry: string): Bypass {
  if (entry === '*') return { covers: () => true };
  const [, network = '', bits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(entry) ?? [];
  const [, host = network, port] = isIP(network) === 0 ? (/^(.*?)(?::(\d{1,5}))?$/.exec(network) ?? []) : [];
  const covers = coverage(bareHost(host), bits === undefined ? undefined : Number(bits));
  return { covers, ...(port !== undefined && { port: Number(port) }) };
}

function coverage(host: string, bits: number | undefined): (host: string) => boolean {
  const version = isIP(host);
  if (version !== 0) return withinNetwork(host, version, bits ?? (version === 4 ? 32 : 128));
  const name = hostOf(host.replace(/^\*?\./, ''));
  if (name === '') return () => false;
  // The domain itself too, with a dot before it or without.
  return (asked) => isIP(asked) === 0 && (asked === name || asked.endsWith(`.${name}`));
}

function withinNetwork(network: string, version: number, bits: number): (host: string) => boolean {
  if (bits > (version === 4 ? 32 : 128)) return () => false;
  const list = new BlockList();
  list.addSubnet(network, bits, version === 4 ? 'ipv4' : 'ipv6');
  return (host) => isIP(host) !== 0 && list.check(host, isIP(host) === 4 ? 'ipv4' : 'ipv6');
}

/** As compared: without brackets and the root's dot, in small letters, in ASCII. */
function hostOf(name: string): string {
  const bare = bareHost(name).replace(/\.$/, '').toLowerCase();
  return isIP(bare) === 0 ? domainToASCII(bare) : bare;
}
