import { expect, it } from 'vitest';
import { decodeOrder } from '../../../src/service/sources/decode-order.ts';
import { decodeFrame } from '../../../src/venue/platform/decode-frame.ts';
import { accountRow, eventText, predictionRow } from '../../../src/venue/platform/fixtures/rows.ts';
import { platformVenue } from '../../../src/venue/platform/platform-venue.ts';
import { spoils } from './garbage.ts';

const events = [
  ['account', eventText('account', 'acct-1', accountRow)],
  ['prediction', eventText('prediction', 'acct-1', predictionRow, 3n)],
] as const;

/** The view of a text that can be read as an order, with its version. */
function read(text: string): unknown {
  const frame = decodeFrame(text);
  if (frame.kind !== 'event') return undefined;
  const { stream, accountId = '' } = frame;
  const origin = {
    venue: platformVenue,
    stream,
    cause: 'stream',
    accountId,
    sourceEpoch: 0,
    observedAtMs: 0,
    receivedMs: 0,
    bytes: 0,
  } as const;
  const item = decodeOrder(frame.row, origin, () => text);
  return item.kind === 'order' ? { view: item.view, sourceVersion: item.sourceVersion } : undefined;
}

it.each(events)('garbage in place of an event of the topic %s tells no other order than that did', (_topic, event) => {
  const truth = read(event);
  expect(truth).toBeDefined();
  // The database in memory refuses what has this text.
  const told = spoils
    .map((spoil) => spoil(event))
    .filter((text) => !text.includes('POISON') && read(text) !== undefined);
  expect(told.map(read)).toEqual(told.map(() => truth));
});
