import type { CommandRequest } from '../../domain/command.ts';
import type { Cause } from '../../domain/observation.ts';
import type { OrderStatus, Stream } from '../../domain/order.ts';
import type { HttpResult } from '../http.ts';
import type { DecodedOrder, Frame, Venue } from '../venue.ts';
import type { WriteResult } from '../write-result.ts';

/**
 * A venue with its fixtures: its authors recorded them, or took them from its documents. Texts are
 * as they came on the wire. Names are for people: a check's line shows them.
 */
export interface VenueUnderCheck {
  readonly venue: Venue;
  /** Those of the venue. */
  readonly streams: { readonly [stream in Stream]?: StreamFixtures };
  readonly writes: Named<WriteFixtures>;
  /** The result of one write, by what was observed of it. Pure. */
  readonly judgeWrite: (request: CommandRequest, attemptId: string, observed: HttpResult) => WriteResult;
}

/** By the names that lines of the check show. */
export type Named<T> = Readonly<Record<string, T>>;

export interface StreamFixtures {
  /** Whose frames and rows they are. */
  readonly accountId: string;
  readonly frames: Named<FrameFixture>;
  /** Rows of lists and answers. */
  readonly rows: Named<RowFixture>;
  /** A row without a fill, and what each word of the venue for a status makes of it. */
  readonly words: { readonly row: string; readonly statuses: Named<WordPlace> };
  /** Each the whole life of one order: its texts in their true order, the last one its end. */
  readonly lives: Named<readonly LifeStep[]>;
}

export interface RowFixture {
  readonly text: string;
  /** Why it can't be read. Left out: it can. */
  readonly reason?: string;
  /** The whole order it shows; for some rows, so each field is proved once. */
  readonly shows?: DecodedOrder;
}

/** `reason` and `shows` are those of the frame, or of the row of an event. */
export interface FrameFixture extends RowFixture {
  readonly kind: Frame['kind'];
}

/** Our status, and the pending action if the word shows one. */
export type WordPlace = readonly [status: OrderStatus, pendingAction?: string];

/** As in a line of a recording: the whole frame for the cause `stream`, else the row. */
export interface LifeStep {
  readonly cause: Cause;
  readonly text: string;
}

export interface WriteFixtures {
  readonly request: CommandRequest;
  /** Our reference on it. */
  readonly attemptId: string;
  /** Every answer the venue documents. */
  readonly answers: Named<DocumentedAnswer>;
}

export interface DocumentedAnswer {
  readonly status: number;
  readonly text: string;
  /** `not_sent`: the venue's word is that nothing was done, so another attempt may follow. */
  readonly proves: WriteResult['kind'];
}

/** The result of one check. */
export interface Check {
  readonly part: 'frames' | 'hostile' | 'rows' | 'words' | 'lives' | 'writes';
  /** The fixture's name, its stream or write before it. */
  readonly name: string;
  /** Left out: it held. */
  readonly missing?: string;
}
