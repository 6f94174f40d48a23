import type { Config } from '../../config/config.ts';
import { type OptionName, optionTable } from '../../config/option-table.ts';
import { Proxies } from '../../runtime/proxies.ts';
import { type Finding, ok } from './finding.ts';

/** Every address outside that may be behind a proxy (docs/connect.md, "Through a proxy"). */
const outside = [
  'platformUrl',
  'platformStreamUrl',
  'platformStagingUrl',
  'platformStagingStreamUrl',
  'platformAuthUrl',
  'authIssuer',
  'authJwksUrl',
  'otlpEndpoint',
] as const satisfies OptionName[];

/** Which proxy leads to which address, or that none does. Whether it lets us through is shown by the check of the address. Empty where no proxy is set. */
export function checkProxies(config: Config): Finding[] {
  const proxies = new Proxies(config);
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
