import type { Exchange } from '../exchange/exchange.ts';
import type { ExchangeAccount } from '../exchange/exchange-order.ts';

/** The account's key pair: one key is one account. Made up, like everything in a sandbox. */
export function keysOf(account: Pick<ExchangeAccount, 'id'>): { readonly keyId: string; readonly secretKey: string } {
  return { keyId: `PK${account.id}`, secretKey: `sandbox-secret-of-${account.id}` };
}

/** A key pair's account; undefined when it is none of ours. */
export function accountOfKeys(exchange: Exchange, keyId: unknown, secretKey: unknown): ExchangeAccount | undefined {
  const account = typeof keyId === 'string' ? exchange.accounts.get(keyId.slice(2)) : undefined;
  if (account === undefined) return undefined;
  const keys = keysOf(account);
  return keys.keyId === keyId && keys.secretKey === secretKey ? account : undefined;
}
