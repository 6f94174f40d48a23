import type { Config } from '../../config/config.ts';
import { type OptionName, optionTable } from '../../config/option-table.ts';
import { venueAddresses } from '../../config/unencrypted.ts';
import { Proxies } from '../../runtime/proxies.ts';
import { type Finding, ok, warn } from './finding.ts';

/** Every outside address that may be behind a proxy (docs/connect.md, "Through a proxy"). */
const outside = [...venueAddresses, 'authIssuer', 'authJwksUrl', 'otlpEndpoint'] as const satisfies OptionName[];

/**
 * Which proxy leads to which address, or none. Whether it lets us through, the check for the
 * address shows. Empty without a proxy and without Node's own switch.
 */
export function checkProxies(config: Config, env: Readonly<Record<string, string | undefined>> = {}): Finding[] {
  return [...waysOf(new Proxies(config), config), ...nodesOwn(env)];
}

function waysOf(proxies: Proxies, config: Config): Finding[] {
  if (!proxies.any) return [];
  const found = new Map<string, string[]>();
  for (const option of outside) {
    const address = config[option];
    if (address === undefined) continue;
    const way = proxies.proxyFor(new URL(address))?.name;
    const detail = way === undefined ? 'reached directly' : `reached through ${way}`;
    found.set(detail, [...(found.get(detail) ?? []), `${optionTable[option].env} (${new URL(address).host})`]);
  }
  return [...found].map(([detail, names]) => ok('proxy', `${names.join(', ')}: ${detail}`));
}

/**
 * Node reads it before our first line runs, so it can't be made harmless from here: requests to the
 * service, made with Node's own `fetch`, leave through the proxy, with the token, by other rules
 * than ours (decision 059).
 */
function nodesOwn({ NODE_USE_ENV_PROXY, NODE_OPTIONS = '' }: Readonly<Record<string, string | undefined>>): Finding[] {
  const byOption = /(?:^|\s)--use-env-proxy(?:\s|$)/.test(NODE_OPTIONS);
  if (NODE_USE_ENV_PROXY !== '1' && !byOption) return [];
  const [seen, fix] = byOption
    ? ['NODE_OPTIONS has --use-env-proxy', 'Take --use-env-proxy out of NODE_OPTIONS']
    : ['NODE_USE_ENV_PROXY is 1', 'Unset NODE_USE_ENV_PROXY'];
  const effect = 'Node sends the requests of tidemark commands to the service, with their token, through the proxy';
  return [warn('proxy', `${seen}: ${effect}`, `${fix}: Tidemark reads HTTPS_PROXY, HTTP_PROXY and NO_PROXY itself`)];
}
