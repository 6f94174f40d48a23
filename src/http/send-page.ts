import type { FastifyReply } from 'fastify';
import { maySee } from './auth/principal.ts';
import type { Cursors } from './cursor.ts';
import type { Page } from './order-reads.ts';
import type { Call } from './route.ts';
import { sendJsonText, sendMissing, sendProblem } from './send-answer.ts';

interface Asked {
  /** Which list: a cursor of another is refused. */
  readonly list: string;
  /** As the caller gave it; an account in it has to be one of the caller's. */
  readonly filter: Readonly<Record<string, unknown>>;
  readonly cursor: string | undefined;
}

/** One page of a list, and the cursor of the next. A cursor belongs to its list and its filters: with others it would skip rows in silence. */
export async function sendPage<T>(
  cursors: Cursors,
  { reply, principal }: Call,
  { list, filter, cursor }: Asked,
  read: (after: readonly string[] | undefined) => Promise<Page<T>>,
  textOf: (item: T) => string,
): Promise<FastifyReply> {
  const { accountId } = filter as { readonly accountId?: string };
  if (accountId !== undefined && !maySee(principal.accounts, accountId)) return sendMissing(reply, 'ACCOUNT_NOT_FOUND');
  const of = `${list} ${JSON.stringify(filter)}`;
  const after = cursor === undefined ? undefined : cursors.decode(of, cursor);
  if (cursor !== undefined && after === undefined)
    return sendProblem(reply, 400, 'INVALID_CURSOR', 'the cursor is not one that was given out for this list and these filters');
  const page = await read(after);
  const known = encoded.get(page);
  if (known?.cursors === cursors && known.of === of) return sendJsonText(reply, 200, known.text);
  const text = encodePage(page, textOf, page.next === undefined ? undefined : cursors.encode(of, page.next));
  encoded.set(page, { cursors, of, text });
  return sendJsonText(reply, 200, text);
}

/** Equal pages that are asked for at once are one read with one result (store/turn-batch.ts): its text is made once too. Gone with the page. */
const encoded = new WeakMap<Page<unknown>, { readonly cursors: Cursors; readonly of: string; readonly text: string }>();

/** Added up, not joined: V8 copies the texts once, when they are written, instead of once more into a list's text. */
function encodePage<T>({ items }: Page<T>, textOf: (item: T) => string, next: string | undefined): string {
  let text = '{"items":[';
  let comma = '';
  for (const item of items) {
    text += comma + textOf(item);
    comma = ',';
  }
  return next === undefined ? `${text}]}` : `${text}],"next":"${next}"}`;
}
