import { makesOrder } from '../../domain/command.ts';
import type { HttpResult } from '../http.ts';
import type { WriteFixtures } from './fixtures.ts';

/** One thing that may be observed of a write. */
export interface Observed {
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
export function unprovedOf(fixtures: WriteFixtures): Readonly<Record<string, readonly Observed[]>> {
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
