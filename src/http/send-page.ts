import type { FastifyReply } from 'fastify';
import type { LoopShare } from '../runtime/loop-share.ts';
import { maySee, type Principal } from './auth/principal.ts';
import type { Cursors } from './cursor.ts';
import type { Page } from './order-reads.ts';
import { sendJsonText, sendMissing, sendProblem } from './send-answer.ts';

interface Asked {
  /** Which list: a cursor of another is refused. */
  readonly list: string;
  /** As the caller gave it; an account in it has to be one of the caller's. */
  readonly filter: Readonly<Record<string, unknown>>;
  readonly cursor: string | undefined;
}

/** Makes the texts of pages: signs their cursors, and takes no more than a share of the event loop, however many are asked for. */
export class Pages {
  private readonly cursors: Cursors;
  private readonly share: LoopShare;
  /** Equal pages that are asked for at once are one read with one result (store/turn-batch.ts): its text is made once too. Gone with the page. */
  private readonly made = new WeakMap<Page<unknown>, { readonly of: string; readonly text: Promise<string> }>();

  constructor(cursors: Cursors, share: LoopShare) {
    this.cursors = cursors;
    this.share = share;
  }

  /** One page of a list, and the cursor of the next. A cursor belongs to its list and its filters: with others it would skip rows in silence. */
  async send<T>(
    { reply, principal }: { readonly reply: FastifyReply; readonly principal: Principal },
    { list, filter, cursor }: Asked,
    read: (after: readonly string[] | undefined) => Promise<Page<T>>,
    textOf: (item: T) => string,
  ): Promise<FastifyReply> {
    const { accountId } = filter as { readonly accountId?: string };
    if (accountId !== undefined && !maySee(principal.accounts, accountId)) return sendMissing(reply, 'ACCOUNT_NOT_FOUND');
    const of = `${list} ${JSON.stringify(filter)}`;
    const after = cursor === undefined ? undefined : this.cursors.decode(of, cursor);
    if (cursor !== undefined && after === undefined)
      return sendProblem(
        reply,
        400,
        'INVALID_CURSOR',
        'the cursor is not one that was given out for this list and these filters',
      );
    const page = await read(after);
    const known = this.made.get(page);
    if (known?.of === of) return sendJsonText(reply, 200, await known.text);
    const text = this.encode(page, textOf, page.next === undefined ? undefined : this.cursors.encode(of, page.next));
    this.made.set(page, { of, text });
    return sendJsonText(reply, 200, await text);
  }

  /** Added up, not joined: V8 copies the texts once, when they are written, instead of once more into a list's text. */
  private async encode<T>({ items }: Page<T>, textOf: (item: T) => string, next: string | undefined): Promise<string> {
    let text = '{"items":[';
    let comma = '';
    await this.share.forEach(items, (item) => {
      text += comma + textOf(item);
      comma = ',';
    });
    return next === undefined ? `${text}]}` : `${text}],"next":"${next}"}`;
  }
}
