import { expect, it } from 'vitest';
import { decodeOrder } from '../../../src/service/sources/decode-order.ts';
import { alpacaVenue } from '../../../src/venue/alpaca/alpaca-venue.ts';
import { updateText } from '../../../src/venue/alpaca/fixtures/rows.ts';
import { accountRow, eventText, predictionRow } from '../../../src/venue/platform/fixtures/rows.ts';
import { platformVenue } from '../../../src/venue/platform/platform-venue.ts';
import { streamOf, type Venue } from '../../../src/venue/venue.ts';
import { alpacaSpoils } from '../venues/alpaca-stream.ts';
import { platformSpoils } from './garbage.ts';

const events = [
  ['account', eventText('account', 'acct-1', accountRow), platformSpoils],
  ['prediction', eventText('prediction', 'acct-1', predictionRow, 3n), platformSpoils],
  ['alpaca_paper', updateText('fill'), alpacaSpoils],
] as const;

/** The view of a text that can be read as an order, with its version. */
function read(text: string, of: (typeof events)[number][0]): unknown {
  const venue: Venue = { ...platformVenue, ...alpacaVenue };
  const frame = streamOf(venue, of).protocol.read(text);
  if (frame.kind !== 'event') return undefined;
  const { stream, accountId = '' } = frame;
  const origin = {
    venue,
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

it.each(events)(
  'garbage in place of an event of the topic %s tells no other order than that did',
  (stream, event, spoils) => {
    const truth = read(event, stream);
    expect(truth).toBeDefined();
    // The database in memory refuses what has this text.
    const told = spoils
      .map((spoil) => spoil(event))
      .filter((text) => !text.includes('POISON') && read(text, stream) !== undefined);
    expect(told.map((text) => read(text, stream))).toEqual(told.map(() => truth));
  },
);
