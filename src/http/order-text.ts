import type { StoredOrder } from './order-reads.ts';

/** An order as REST answers it. `state` is JSON text and goes into the text as it is: parsing and encoding it again took most of the time of a page. */
export function orderText({ stream, orderId, accountId, revision, sourceVersion, state }: StoredOrder): string {
  const version = sourceVersion === undefined ? '' : `,"sourceVersion":"${sourceVersion}"`;
  return `{"stream":"${stream}","orderId":${quoted(orderId)},"accountId":${quoted(accountId)},"revision":${revision}${version},"order":${state}}`;
}

const plain = /^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/;

/** JSON of an id. Most are letters and digits, which need no look at each of their characters by an encoder. */
function quoted(id: string): string {
  return plain.test(id) ? `"${id}"` : JSON.stringify(id);
}
