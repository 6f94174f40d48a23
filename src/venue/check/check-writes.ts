import { makesOrder } from '../../domain/command.ts';
import type { Stream } from '../../domain/order.ts';
import { traits } from '../../domain/streams.ts';
import type { HttpResult } from '../http.ts';
import type { Venue } from '../venue.ts';
import type { WriteResult } from '../write-result.ts';
import type { Check, VenueUnderCheck, WriteFixtures } from './fixtures.ts';
import { check, messageOf, readAs, readingOfRow } from './reading.ts';
import { type Observed, unprovedOf } from './unproved-answers.ts';

/** The writes of a stream. */
function writesOf(stream: Stream) {
  // Of a stream that is tried there may be no row yet.
  const replaces = Object.hasOwn(traits, stream) && traits[stream].replaces !== 'no';
  return ['place', 'cancel', ...(replaces ? ['replace'] : [])];
}

/**
 * Each documented answer proves what its document says, and anything else proves nothing: it is
 * `unknown`, and no second write may follow. Without a byte sent it is `not_sent`.
 */
export function* checkWrites({ venue, writes, judgeWrite }: VenueUnderCheck): Iterable<Check> {
  for (const stream of Object.keys(venue) as Stream[]) yield* checkRecorded(stream, Object.values(writes));
  for (const [name, fixtures] of Object.entries(writes)) {
    const judged = (observed: HttpResult) => judgeWrite(fixtures.request, fixtures.attemptId, observed);
    for (const proves of ['accepted', 'refused'] as const)
      if (!Object.values(fixtures.answers).some((answer) => answer.proves === proves))
        yield check('writes', name, `an answer that is ${proves}`, 'none is recorded');
    for (const [answer, { status, text, proves }] of Object.entries(fixtures.answers)) {
      const observed = { kind: 'answered', status, headers: {}, text } as const;
      yield check(
        'writes',
        name,
        answer,
        documentedFault(venue, fixtures, proves, () => judged(observed)),
      );
    }
    for (const [what, observed] of Object.entries(unprovedOf(fixtures)))
      yield check('writes', name, what, unprovedFault(observed, judged));
  }
}

function* checkRecorded(stream: Stream, recorded: readonly WriteFixtures[]): Iterable<Check> {
  for (const kind of writesOf(stream))
    if (!recorded.some(({ request }) => request.stream === stream && request.kind === kind))
      yield check('writes', stream, `a ${kind}`, 'none is recorded');
}

function documentedFault(
  venue: Venue,
  { request }: WriteFixtures,
  proves: WriteResult['kind'],
  judge: () => WriteResult,
): string | undefined {
  const result = judgedOrThrown(judge);
  if (typeof result === 'string') return result;
  if (result.kind !== proves) return `it is ${result.kind}, and the venue documents ${proves}`;
  if (result.kind !== 'accepted' || result.order === undefined) return undefined;
  const { stream, accountId } = request;
  const reading = readingOfRow(venue, result.order, { stream, accountId, isEvent: false });
  if (reading.kind !== 'order') return `of the order that it shows: ${readAs(reading)}`;
  const { orderId } = reading.decoded.view;
  if (request.kind === 'place' || (orderId === request.orderId) !== makesOrder(request)) return undefined;
  return makesOrder(request)
    ? 'it shows the order before'
    : `it shows the order ${orderId}, and not ${request.orderId}`;
}

function unprovedFault(
  observed: readonly Observed[],
  judge: (observed: HttpResult) => WriteResult,
): string | undefined {
  for (const { what, http } of observed) {
    const isLost = http.kind === 'answered' || http.sent === 'maybe';
    const expected = isLost ? 'unknown' : 'not_sent';
    const result = judgedOrThrown(() => judge(http));
    if (typeof result === 'string') return `${what}: ${result}`;
    if (isLost && result.kind === 'not_sent' && result.mayRepeat) return `${what}: a second write may follow`;
    if (result.kind !== expected) return `${what}: it is ${result.kind}, and ${expected} is all that is proved`;
  }
  return undefined;
}

function judgedOrThrown(judge: () => WriteResult): WriteResult | string {
  try {
    return judge();
  } catch (error) {
    return `it throws: ${messageOf(error)}`;
  }
}
