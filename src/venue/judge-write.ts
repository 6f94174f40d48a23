import { type CommandRequest, isForOrder, makesOrder, type Reason } from '../domain/command.ts';
import { isPlatformId } from '../domain/platform-id.ts';
import { jsonOrUndefined } from '../runtime/json-or-undefined.ts';
import type { HttpResult } from './http.ts';
import { parseJson } from './parse-json.ts';
import { reasonOf } from './platform-error.ts';
import { type Fields, isObject } from './row-reader.ts';
import type { WriteAnswer, WriteResult } from './write-result.ts';

/** A whole answer to a write. `body`: undefined if the text is not JSON. */
export interface WholeAnswer extends Extract<HttpResult, { kind: 'answered' }> {
  readonly body: unknown;
}

/** How a venue reads the answers to one of its writes. */
export interface WriteJudge {
  /** The content of a success about our order; else why it proves nothing. */
  readonly success: (answer: WholeAnswer) => WriteAnswer | string;
  /** Why it was not carried out, in the venue's words. */
  readonly reason: (answer: WholeAnswer) => Reason;
  /**
   * The documented result of any other answer, beside 401 and 403. Undefined: none is, so it is
   * `unknown`.
   */
  readonly documented: (answer: WholeAnswer, reason: Reason) => WriteResult | undefined;
}

/** The table "observed → result" for one HTTP result, as far as all venues share it. Pure. */
export function judgeAnswer(observed: HttpResult, judge: WriteJudge): WriteResult {
  if (observed.kind === 'failed') {
    const isLost = observed.sent !== 'no';
    const became = isLost ? 'it may have reached the platform' : 'it was not sent';
    const reason = reasonOf({ message: `${became}: ${observed.message}` });
    return isLost ? { kind: 'unknown', reason } : { kind: 'not_sent', reason, mayRepeat: true };
  }
  const { status, text } = observed;
  const answer = { ...observed, body: jsonOrUndefined(text, parseJson) };
  if (status >= 200 && status < 300) {
    const read = judge.success(answer);
    if (typeof read !== 'string') return withStatus(read, status);
    return { kind: 'unknown', reason: { code: 'BAD_ANSWER', message: read, status } };
  }
  const reason = judge.reason(answer);
  if (status === 401 || status === 403) return { kind: 'refused', reason };
  return judge.documented(answer, reason) ?? { kind: 'unknown', reason };
}

/**
 * The order of an answer, which proves nothing unless it is ours: by our reference if the write
 * makes an order, else by its id. `names`: its fields with both, and those to keep.
 */
export function answeredOrder(
  body: unknown,
  request: CommandRequest,
  attemptId: string,
  names: { readonly orderId: string; readonly reference: string; readonly evidence: readonly string[] },
): WriteAnswer | string {
  if (!isObject(body)) return 'the answer is not an order';
  const { [names.orderId]: id, [names.reference]: reference } = body;
  const orderId = typeof id === 'number' ? String(id) : id;
  if (typeof orderId !== 'string' || !isPlatformId(orderId) || typeof reference !== 'string')
    return 'the answer is not an order';
  const isOurs = makesOrder(request)
    ? reference === attemptId && !isForOrder(request, orderId)
    : isForOrder(request, orderId);
  if (!isOurs) return 'the answer is about another order';
  return { kind: 'accepted', answer: evidenceOf(body, names.evidence), order: body };
}

/** With the answer's status in its reason. */
export function withStatus(read: WriteAnswer, status: number): WriteAnswer {
  return read.reason === undefined ? read : { ...read, reason: { ...read.reason, status } };
}

/** The fields kept of an answer, short: one of a megabyte is not better evidence. */
export function evidenceOf(answer: Fields, fields: readonly string[]): Fields {
  const kept: Record<string, unknown> = {};
  for (const field of fields) {
    const value = answer[field];
    if (typeof value === 'string' && value !== '') kept[field] = value.slice(0, 500).toWellFormed();
    if (typeof value === 'number') kept[field] = String(value);
    if (typeof value === 'boolean') kept[field] = value;
  }
  return kept;
}
