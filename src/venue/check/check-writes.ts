import { makesOrder } from '../../domain/command.ts';
import type { Stream } from '../../domain/order.ts';
import { traits } from '../../domain/streams.ts';
import type { HttpResult } from '../http.ts';
import type { Venue } from '../venue.ts';
import type { WriteResult } from '../write-result.ts';
import type { Check, VenueUnderCheck, WriteFixtures } from './fixtures.ts';
import { check, messageOf, readAs, readingOfRow } from './reading.ts';

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

/** One thing that may be observed of a write. */
interface Observed {
  readonly what: string;
  readonly http: HttpResult;
}

const page = '<html><body>Bad gateway</body></html>';
/** JSON without an order's name. */
const noOrders = ['{}', '[]', 'null', '""', '"ok"', '0', 'true', '{"success":true}', '{"data":null}'] as const;
const lost = ['deadline', 'aborted', 'broken', 'too_large', 'bad_coding', 'bad_utf8'] as const;
const errors = [408, 429, 500, 502, 503, 504] as const;
const redirects = [301, 302, 303, 307, 308] as const;
const refusals = [400, 404, 409, 422] as const;
const successes = [200, 201, 202, 203, 206] as const;

/**
 * Everything observed of a write without proving anything, by its name. Documented answers are left
 * out.
 */
function unprovedOf(fixtures: WriteFixtures): Readonly<Record<string, readonly Observed[]>> {
  const documented = Object.values(fixtures.answers);
  const good = documented.filter(({ proves }) => proves === 'accepted').map(({ text }) => text);
  const bodies = [...new Set(['', page, ...documented.map(({ text }) => text)])];
  const noes = documented
    .filter(({ proves }) => proves !== 'accepted' && proves !== 'rejected')
    .map(({ text }) => text);
  const isDocumented = ({ http }: Observed) =>
    documented.some((one) => http.kind === 'answered' && one.status === http.status && one.text === http.text);
  const under = (statuses: readonly number[], texts: readonly string[]): Observed[] =>
    statuses.flatMap((status) => texts.map((text) => answered(status, text))).filter((one) => !isDocumented(one));
  return {
    'the connection ends before the write': [failed('connect', 'no'), failed('broken', 'no')],
    'the connection ends after the write': lost.map((code) => failed(code, 'maybe')),
    ...Object.fromEntries(errors.map((status) => [`any other ${status}`, under([status], bodies)])),
    'a redirect': under(redirects, bodies),
    'a success without an order': under(successes, [...noOrders, ...noes.filter((text) => text !== '')]),
    'a success that is not JSON': under(successes, ['', page, ...good.map((text) => text.slice(0, -1))]),
    'a success about another order': under(
      successes,
      good.flatMap((text) => aboutAnother(text, fixtures)),
    ),
    'a page with the status of a refusal': under(refusals, [page]),
  };
}

/** The answer with another reference or order id, if it has ours. */
function aboutAnother(text: string, { request, attemptId }: WriteFixtures): string[] {
  const ours = request.kind === 'place' || makesOrder(request) ? [attemptId] : [request.orderId];
  return ours.map((id) => text.replaceAll(`"${id}"`, `"${another(id)}"`)).filter((other) => other !== text);
}

/** Of the same form: only its last character differs. */
function another(id: string): string {
  return `${id.slice(0, -1)}${id.endsWith('7') ? '8' : '7'}`;
}

function answered(status: number, text: string): Observed {
  const body = text === '' ? 'no body' : text.length > 40 ? `${text.slice(0, 40)}…` : text;
  return { what: `${status} with ${body}`, http: { kind: 'answered', status, headers: {}, text } };
}

function failed(code: string, sent: 'no' | 'maybe'): Observed {
  return { what: code, http: { kind: 'failed', code, message: code, sent } };
}
