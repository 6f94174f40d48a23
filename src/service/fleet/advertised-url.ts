import type { Config } from '../../config/config.ts';
import { httpAddress, isLoopbackHost } from '../../runtime/url-host.ts';

/**
 * Where the other processes of the fleet reach REST of this one. Undefined: REST
 * is not bound, and nothing is configured.
 */
export function advertisedUrl(
  { advertisedUrl: configured, httpHost }: Pick<Config, 'advertisedUrl' | 'httpHost'>,
  { bound, hostname }: { readonly bound: string | undefined; readonly hostname: string },
): string | undefined {
  if (configured !== undefined || bound === undefined) return configured;
  return isLoopbackHost(httpHost) ? bound : httpAddress(hostname, new URL(bound).port || '80');
}
