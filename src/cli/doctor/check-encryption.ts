import type { Config } from '../../config/config.ts';
import { unencryptedAddresses } from '../../config/unencrypted.ts';
import { type Finding, warn } from './finding.ts';

/** Platform addresses to which secrets would go in the clear. Nothing is told where there are none: in production they are a fault of the settings. */
export function checkEncryption(config: Config): Finding[] {
  const names = unencryptedAddresses(config);
  if (names.length === 0) return [];
  const detail = `${names.join(', ')}: neither encrypted nor on loopback, so others on the way can read tokens and orders`;
  return [warn('encryption', detail, 'Write addresses with https:// and wss://; NODE_ENV=production refuses others.')];
}
