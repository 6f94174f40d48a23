import type { Exchange } from '../exchange/exchange.ts';
import type { ExchangeAccount } from '../exchange/exchange-order.ts';

/** The account's key pair: one key is one account. Made up, like everything in a sandbox. */
export function keysOf({ id, keyNumber = 1 }: Pick<ExchangeAccount, 'id' | 'keyNumber'>) {
  return { keyId: `PK${id}`, secretKey: `sandbox-secret-of-${id}${keyNumber === 1 ? '' : `-${keyNumber}`}` };
}

/** A key pair's account; undefined when it is none of ours. */
export function accountOfKeys(exchange: Exchange, keyId: unknown, secretKey: unknown): ExchangeAccount | undefined {
  const account = typeof keyId === 'string' ? exchange.accounts.get(keyId.slice(2)) : undefined;
  if (account === undefined) return undefined;
  const keys = keysOf(account);
  return keys.keyId === keyId && keys.secretKey === secretKey ? account : undefined;
}
