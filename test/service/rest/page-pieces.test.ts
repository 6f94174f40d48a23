import { expect, it } from 'vitest';
import { PagePieces } from '../../../src/service/rest/stream/page-pieces.ts';
import type { EventPosition, StreamedUpdate } from '../../../src/store/orders/order-reads.ts';

function updatesOf(...payloads: readonly string[]): StreamedUpdate[] {
  return payloads.map((payload, at) => ({
    seq: BigInt(at + 1),
    stream: 'account',
    orderId: `o-${at}`,
    accountId: `A-${at % 2}`,
    payload,
  }));
}

const everything = { selection: 'all', events: undefined, wants: () => true };
const textOf = (pieces: readonly { readonly bytes: Uint8Array }[]) =>
  pieces.map(({ bytes }) => Buffer.from(bytes).toString());

it('makes the text once for readers that select the same, and other text for others', () => {
  const page = new PagePieces(updatesOf('{"a":1}', '{"b":2}'));
  const events: EventPosition = { tx: 7n, number: 3n };
  const one = { selection: 'one', events: undefined, wants: ({ accountId }: StreamedUpdate) => accountId === 'A-1' };
  expect(page.piecesFor(everything)).toBe(page.piecesFor({ ...everything }));
  expect(textOf(page.piecesFor(everything))).toEqual([
    'id: 1\nevent: update\ndata: {"a":1}\n\nid: 2\nevent: update\ndata: {"b":2}\n\n',
  ]);
  expect(textOf(page.piecesFor(one))).toEqual(['id: 2\nevent: update\ndata: {"b":2}\n\n']);
  expect(textOf(page.piecesFor({ ...one, events }))).toEqual(['id: 2.7.3\nevent: update\ndata: {"b":2}\n\n']);
  expect(page.piecesFor({ ...everything, selection: 'none', wants: () => false })).toEqual([]);
});

it('cuts a page into pieces of about 64 KiB, each with the id that it ends on', () => {
  const page = new PagePieces(updatesOf(...Array.from({ length: 10 }, () => `"${'é'.repeat(30_000)}"`)));
  const pieces = page.piecesFor(everything);
  expect(pieces.map(({ lastSeq }) => lastSeq)).toEqual([3n, 6n, 9n, 10n]);
  expect(
    textOf(pieces)
      .join('')
      .match(/event: update/g),
  ).toHaveLength(10);
});
