import type { Config } from '../../config/config.ts';
import { httpAddress, isLoopbackHost } from '../../runtime/url-host.ts';

/**
 * How other processes in the fleet reach this one's REST. Undefined: REST is not bound, and nothing
 * is configured.
 */
export function advertisedUrl(
  { advertisedUrl: configured, httpHost }: Pick<Config, 'advertisedUrl' | 'httpHost'>,
  { bound, hostname }: { readonly bound: string | undefined; readonly hostname: string },
): string | undefined {
  if (configured !== undefined || bound === undefined) return configured;
  return isLoopbackHost(httpHost) ? bound : httpAddress(hostname, new URL(bound).port || '80');
}
