import type { Config } from './config.ts';
import { optionTable } from './option-table.ts';

const platformAddresses = [
  'platformUrl',
  'platformStagingUrl',
  'platformAuthUrl',
  'platformStreamUrl',
  'platformStagingStreamUrl',
] as const;

/**
 * The variables with platform addresses whose traffic others on the way can read. In production they are refused (`checkRules`); elsewhere they are only reported.
 */
export function unencryptedAddresses(config: Config): readonly string[] {
  return platformAddresses.filter((option) => isUnencrypted(config[option])).map((option) => optionTable[option].env);
}

/** Whether traffic to this address leaves this machine unencrypted. */
export function isUnencrypted(address: string | undefined): boolean {
  if (address === undefined) return false;
  const { protocol, hostname } = new URL(address);
  return protocol !== 'https:' && protocol !== 'wss:' && !isLoopback(hostname);
}

/**
 * Decides by the address and never resolves a name: a name that resolves to loopback today may not do so tomorrow. `URL` has already made 127.1 into 127.0.0.1.
 */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
