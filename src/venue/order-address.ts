import { isAddressable, isPlatformId } from '../domain/platform-id.ts';

export const notAnId = failure('accountId and orderId must be ids that an order and its account can have');

/** The order may be followed: the platform itself shows it. */
const outOfReach = failure(
  'nothing was sent: a server on the way could read this id as another address, so the order can be looked at and changed only at the platform itself',
);

/** Why a request about one order is never made. Undefined: it may be. */
export function addressFault(orderId: string) {
  if (!isPlatformId(orderId)) return notAnId;
  return isAddressable(orderId) ? undefined : outOfReach;
}

function failure(message: string) {
  return { code: 'INVALID_REQUEST', message, retryable: false, sent: 'no' } as const;
}

/**
 * The query behind a platform path, from `?` on. A blank is `%20`: only servers that read the query
 * as a form take `+` for one.
 */
export function queryText(fields: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) given.set(name, String(value));
  return given.size === 0 ? '' : `?${given.toString().replaceAll('+', '%20')}`;
}
