import { isDeepStrictEqual } from 'node:util';
import { type OrderView, type Stream, statusWord } from '../../domain/order.ts';
import { jsonOrUndefined } from '../../runtime/json-or-undefined.ts';
import { plural } from '../../runtime/plural.ts';
import { Secret } from '../../runtime/secret.ts';
import { parseJson } from '../parse-json.ts';
import { type DecodedOrder, streamOf, type Venue } from '../venue.ts';
import type { Check, FrameFixture, RowFixture, StreamFixtures, WordPlace } from './fixtures.ts';
import { hostileTexts } from './hostile-texts.ts';
import { check, type Reading, readAs, readingOfFrame, readingOfRow, readingOfRowText, shownValue } from './reading.ts';

/** The port needs these messages on a stream. */
const neededKinds = ['event', 'subscribed'] as const;
/** And these where a session signs in by a message. */
const answersToHello = ['signed_in', 'ended'] as const;

/** Each frame is of its kind, or unreadable for its reason. */
export function* checkFrames(venue: Venue, stream: Stream, { frames, accountId }: StreamFixtures): Iterable<Check> {
  const { hello } = streamOf(venue, stream).protocol;
  for (const kind of hello === undefined ? neededKinds : [...neededKinds, ...answersToHello]) {
    const isThere = Object.values(frames).some((frame) => frame.kind === kind && frame.reason === undefined);
    if (!isThere) yield check('frames', stream, `a frame that is ${kind}`, 'none is recorded');
  }
  yield check('frames', stream, 'its own messages', ownMessageFault(venue, stream, accountId));
  for (const [name, frame] of Object.entries(frames))
    yield check(
      'frames',
      stream,
      name,
      frameFault(readingOfFrame(venue, stream, accountId, frame.text), frame, { stream, accountId }),
    );
}

const madeUpCredential = new Secret('key:secret');

/** A venue that sends a message back must not make an order of it. */
function ownMessageFault(venue: Venue, stream: Stream, accountId: string): string | undefined {
  const { protocol } = streamOf(venue, stream);
  const sayings = {
    ...(protocol.hello !== undefined && { hello: () => protocol.hello?.(madeUpCredential, 0) ?? '' }),
    subscribe: () => protocol.subscribe('s-1', accountId),
    unsubscribe: () => protocol.unsubscribe('s-1', accountId),
  };
  for (const [name, say] of Object.entries(sayings)) {
    const [message, again] = [say(), say()];
    if (message === '' || message !== again) return `${name} is empty, or another message each time`;
    const reading = readingOfFrame(venue, stream, accountId, message);
    if (reading.kind === 'broken' || reading.kind === 'order') return `${name}, sent back: ${readAs(reading)}`;
  }
  return undefined;
}

function frameFault(
  reading: Reading,
  fixture: FrameFixture,
  { stream, accountId }: { stream: Stream; accountId: string },
): string | undefined {
  const { kind, reason } = fixture;
  if (reading.kind === 'broken') return reading.why;
  const { frame } = reading;
  if (reason === undefined && (frame?.kind !== kind || reading.kind === 'unreadable'))
    return `${readAs(reading)}, and not ${kind}`;
  if (frame?.kind === 'event' && frame.stream !== stream) return `it is of the stream ${frame.stream}`;
  if (frame?.kind === 'event' && (frame.accountId ?? accountId) !== accountId)
    return `it is of the account ${frame.accountId}, and not ${accountId}`;
  return reason === undefined && kind !== 'event' ? undefined : rowFault(reading, fixture);
}

/** Each row is an order in its one form, or unreadable for its reason. */
export function* checkRows(venue: Venue, stream: Stream, { rows, accountId }: StreamFixtures): Iterable<Check> {
  if (!Object.values(rows).some(({ shows }) => shows !== undefined))
    yield check('rows', stream, 'a row with the order that it shows', 'none is recorded');
  for (const [name, row] of Object.entries(rows)) {
    const reading = readingOfRowText(venue, row.text, { stream, accountId, isEvent: false });
    yield check('rows', stream, name, rowFault(reading, row));
  }
}

function rowFault(reading: Reading, { reason, shows }: RowFixture): string | undefined {
  if (reason !== undefined) {
    const isRight = reading.kind === 'unreadable' && reading.reason === reason;
    return isRight ? undefined : `${readAs(reading)}, and not unreadable (${reason})`;
  }
  if (reading.kind !== 'order') return readAs(reading);
  return shows === undefined ? undefined : otherOrder(reading.decoded, shows);
}

/** The first wrong field, absent ones too. */
function otherOrder(found: DecodedOrder, expected: DecodedOrder): string | undefined {
  if (found.sourceVersion !== expected.sourceVersion)
    return `the version is ${found.sourceVersion}, and not ${expected.sourceVersion}`;
  const fields = Object.keys({ ...expected.view, ...found.view }) as (keyof OrderView)[];
  const field = fields.find((name) => !isDeepStrictEqual(found.view[name], expected.view[name]));
  if (field === undefined) return undefined;
  return `${field} is ${shownValue(found.view[field])}, and not ${shownValue(expected.view[field])}`;
}

/**
 * No text made from a frame or a row throws, or is read as an order in another form than the
 * port's. Half a message is no order.
 */
export function* checkHostile(venue: Venue, stream: Stream, fixtures: StreamFixtures): Iterable<Check> {
  const origin = { stream, accountId: fixtures.accountId, isEvent: false };
  const readings = [
    [fixtures.frames, (text: string) => readingOfFrame(venue, stream, fixtures.accountId, text)],
    [fixtures.rows, (text: string) => readingOfRowText(venue, text, origin)],
  ] as const;
  for (const [texts, read] of readings) {
    for (const [name, { text, reason }] of Object.entries(texts))
      if (reason === undefined) yield check('hostile', stream, name, hostileFault(text, read));
  }
}

function hostileFault(good: string, read: (text: string) => Reading): string | undefined {
  let first: string | undefined;
  let faults = 0;
  for (const { what, text, isWhole } of hostileTexts(good)) {
    const reading = read(text);
    if (reading.kind !== 'broken' && (isWhole || reading.kind !== 'order')) continue;
    first ??= `${what}: ${readAs(reading)}`;
    faults += 1;
  }
  return faults > 1 ? `${first}; and ${plural(faults - 1, 'more text')}` : first;
}

/** Every venue ends an order in these ways. */
const neededStatuses = ['filled', 'canceled', 'rejected'] as const;

/** Every object in JavaScript has the other two. */
const madeUpWords = ['tidemark_made_up', 'constructor', '__proto__'] as const;

/**
 * Each word for a status has its place; a word without one is `unknown`. The raw word stays.
 */
export function* checkWords(venue: Venue, stream: Stream, { words, accountId }: StreamFixtures): Iterable<Check> {
  for (const status of neededStatuses)
    if (!Object.values(words.statuses).some(([place]) => place === status))
      yield check('words', stream, `a word for ${status}`, 'none is recorded');
  const row = jsonOrUndefined(words.row, parseJson) as object;
  const { status: field } = streamOf(venue, stream).orders.names;
  const unknown = madeUpWords.map((word): [string, WordPlace] => [word, ['unknown']]);
  for (const [word, place] of [...Object.entries(words.statuses), ...unknown]) {
    const reading = readingOfRow(venue, { ...row, [field]: word }, { stream, accountId, isEvent: false });
    yield check('words', stream, word, wordFault(reading, word, place));
  }
}

function wordFault(reading: Reading, word: string, [status, pendingAction = 'none']: WordPlace): string | undefined {
  if (reading.kind !== 'order') return readAs(reading);
  const { view } = reading.decoded;
  if (view.status !== status) return `it is ${view.status}, and not ${status}`;
  if (view.pendingAction !== pendingAction)
    return `its pending action is ${view.pendingAction}, and not ${pendingAction}`;
  return statusWord(view.statusRaw) === statusWord(word) ? undefined : `its raw word is ${view.statusRaw}`;
}
