import { isLoopbackHost } from '../runtime/url-host.ts';
import type { Config } from './config.ts';
import { optionTable } from './option-table.ts';

/** Every venue's addresses. */
export const venueAddresses = [
  'platformUrl',
  'platformStagingUrl',
  'platformAuthUrl',
  'platformStreamUrl',
  'platformStagingStreamUrl',
  'alpacaUrl',
  'alpacaOtherUrl',
  'alpacaStreamUrl',
] as const;

/**
 * The variables with a venue's address whose traffic others on the way can read. In production
 * they are refused (load-config.ts); elsewhere they are only reported.
 */
export function unencryptedAddresses(config: Config): readonly string[] {
  return venueAddresses.filter((option) => isUnencrypted(config[option])).map((option) => optionTable[option].env);
}

/** Whether traffic to this address leaves this machine unencrypted. */
export function isUnencrypted(address: string | undefined): boolean {
  if (address === undefined) return false;
  const { protocol, hostname } = new URL(address);
  return protocol !== 'https:' && protocol !== 'wss:' && !isLoopbackHost(hostname);
}
