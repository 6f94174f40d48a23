import { parseProxy } from '../runtime/proxies.ts';
import { Secret } from '../runtime/secret.ts';
import { accepted, type Built, inGroup, type OptionText, refused } from './option.ts';

/**
 * The way out, by the names curl and most other programs read. The names in small letters are read
 * too, and win.
 */
export const proxyOptions = inGroup('Proxy', {
  httpsProxy: proxy({
    env: 'HTTPS_PROXY',
    describe:
      'The proxy, by CONNECT, to `https` and `wss` addresses of the platform, of an issuer and of a collector of traces (docs/connect.md). `https_proxy` wins over it. It may carry credentials: `http://USER:PASSWORD@HOST:PORT`.',
  }),
  httpProxy: proxy({
    env: 'HTTP_PROXY',
    describe: 'The same for `http` and `ws` addresses, by CONNECT too. `http_proxy` wins over it.',
  }),
  noProxy: bypasses({
    env: 'NO_PROXY',
    describe:
      'What is reached without a proxy: host names (with all names below them), IP addresses, networks (`10.0.0.0/8`), each with or without a port, or `*` for everything. `no_proxy` wins over it.',
  }),
});

/**
 * An address that may carry credentials. It is printed without them, even without the user, since
 * some proxies take a key there.
 */
function proxy<const S extends OptionText>(spec: S): Built<S, Secret> {
  const kind = 'address, http:// or https://';
  return {
    ...spec,
    kind,
    secret: true,
    alsoInSmallLetters: true,
    parse: (text) => {
      const parsed = parseProxy(text);
      if (parsed === undefined)
        return refused('must be the address of an HTTP proxy: http://HOST:PORT, or https:// for TLS to the proxy');
      const shown = parsed.authorization === undefined ? parsed.name : parsed.name.replace('://', '://[redacted]@');
      return accepted(new Secret(text), shown);
    },
  };
}

/**
 * Separated by commas or blanks. Any text is taken: other programs read the same variable, and each
 * leaves out the parts it does not know.
 */
function bypasses<const S extends OptionText>(spec: S): Built<S, readonly string[]> {
  return {
    ...spec,
    kind: 'host names, IP addresses and networks, separated by commas',
    alsoInSmallLetters: true,
    parse: (text) => {
      const entries = text.split(/[\s,]+/).filter((entry) => entry !== '');
      return accepted(Object.freeze(entries), entries.join(','));
    },
  };
}
