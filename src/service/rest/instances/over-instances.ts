import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { type AccountListDocument, accountList } from '../../../contract/account-answers.ts';
import {
  type CancelAllDocument,
  cancelAfterAnswer,
  cancelAllAnswer,
  reconcileAnswer,
} from '../../../contract/rest-answers.ts';
import type { Clock } from '../../../runtime/clock.ts';
import { jsonOrUndefined } from '../../../runtime/json-or-undefined.ts';
import type { Answer, Done } from '../../commands/answer.ts';
import type { CancelAfter } from '../../commands/cancel-all/cancel-timers.ts';
import type { Reconciled } from '../../commands/commands.ts';
import { mergeCancelAlls, mergeReports } from '../../commands/over-holders.ts';
import type { OtherInstance } from '../../fleet/other-instances.ts';
import type { Call } from '../route.ts';
import { sendJson } from '../send-answer.ts';
import { sendNotDone } from '../send-not-done.ts';
import { type Forwarding, type FromElsewhere, isOfThisProcess, wasForwarded } from './forwarding.ts';

// One request for several processes' accounts: each is asked once, and the answers are joined.

type ReconcileDocument = z.infer<typeof reconcileAnswer>;
type Unanswered = NonNullable<CancelAllDocument['unanswered']>;

/**
 * How long an instance may take for its own part: a cancel-all waits 20 s for its cancels, a
 * `reconcile` for its reads. A frozen one is left out as soon as the fleet goes on without it.
 */
export const longActMs = 20_000;

/**
 * What all instances have answered, as one. `unanswered`: none has done anything for certain, and
 * one answer was lost.
 */
export type OfAll<Body> = Answer<Done<{ body: Body }>> | { readonly kind: 'unanswered' };

export function sendOfAll(reply: FastifyReply, given: OfAll<object>): FastifyReply {
  return given.kind === 'done' ? sendJson(reply, 200, given.body) : sendNotDone(reply, given);
}

/**
 * Asks every other instance the same. `own`: this process's answer, or why it has none. That is the
 * answer if no instance did anything, or to a forwarded request. This process then answers for
 * itself alone.
 */
async function answerOfAll<Body extends { readonly unanswered?: Unanswered | undefined }>(
  forwarding: Forwarding,
  call: Call,
  shape: z.ZodType<Body>,
  own: Answer<Body>,
  merge: (bodies: readonly Body[], allAnswered: boolean) => Body,
): Promise<OfAll<Body>> {
  const alone = 'code' in own ? own : { kind: 'done' as const, body: own };
  if (wasForwarded(call.request) || ('code' in own && !isOfThisProcess(own.code))) return alone;
  const patient = { ...call, patienceMs: longActMs };
  const answers = await Promise.all(forwarding.others.all().map((to) => ask(forwarding, patient, shape, to)));
  const unanswered = answers.flatMap((answer) => ('instance' in answer ? [answer] : []));
  const theirs = answers.flatMap((answer) => ('body' in answer ? [answer.body] : []));
  const bodies = 'code' in own ? theirs : [own, ...theirs];
  if (bodies.length === 0)
    return unanswered.some(({ code }) => code === 'FORWARD_UNANSWERED') ? { kind: 'unanswered' } : alone;
  const allAnswered = unanswered.length === 0;
  return { kind: 'done', body: { ...merge(bodies, allAnswered), ...(!allAnswered && { unanswered }) } };
}

/** What is shown every few seconds does not wait longer for a process that may be frozen. */
const answerWithinMs = 2_000;

/** `own`, with the states other processes give for the accounts they follow. */
export async function accountsOfAll(
  { forwarding, clock }: { readonly forwarding: Forwarding; readonly clock: Clock },
  call: Call,
  own: AccountListDocument,
): Promise<AccountListDocument> {
  const isElsewhere = ({ state }: AccountListDocument['items'][number]) => state === 'elsewhere';
  if (!own.items.some(isElsewhere)) return own;
  const holders = new Set(own.items.filter(isElsewhere).map(({ instance }) => instance));
  const asked = forwarding.others.all().filter(({ instance }) => holders.has(instance));
  const answers = await askOthers({ forwarding, clock }, call, accountList, asked);
  const known = new Map<string, AccountListDocument['items'][number]>();
  for (const { answer } of answers)
    if ('body' in answer)
      for (const item of answer.body.items) if (!isElsewhere(item)) known.set(`${item.stream} ${item.accountId}`, item);
  return {
    ...own,
    items: own.items.map((item) =>
      isElsewhere(item) ? (known.get(`${item.stream} ${item.accountId}`) ?? item) : item,
    ),
  };
}

/**
 * Asks each the same as `call` asks here, and waits two seconds at most. A forwarded request asks
 * no other instance.
 */
export async function askOthers<Body>(
  { forwarding, clock }: { readonly forwarding: Forwarding; readonly clock: Clock },
  call: Call,
  shape: z.ZodType<Body>,
  others: readonly OtherInstance[],
): Promise<
  readonly { readonly instance: string; readonly answer: { readonly body: Body } | { readonly code: string } }[]
> {
  if (wasForwarded(call.request) || others.length === 0) return [];
  const late = new AbortController();
  // A late request is given up: it would hold a place among those in flight.
  const tooLate = clock.sleep(answerWithinMs, late.signal).then(() => {
    late.abort();
    return { code: 'FORWARD_UNANSWERED' };
  });
  const answers = others.map(async (to) => {
    const answer = await Promise.race([ask(forwarding, call, shape, to, late.signal), tooLate]);
    return { instance: to.instance, answer: 'body' in answer || 'code' in answer ? answer : { code: 'NOT_LEADER' } };
  });
  return Promise.all(answers).finally(() => late.abort());
}

const ofProblem = z.object({ code: z.string() });

/** `{}`: it has no such account. */
async function ask<Body>(
  forwarding: Forwarding,
  call: Call & { readonly patienceMs?: number },
  shape: z.ZodType<Body>,
  to: OtherInstance,
  signal?: AbortSignal,
): Promise<{ readonly body: Body } | Unanswered[number] | Record<never, never>> {
  const { instance } = to;
  const answer = await forwarding.send(call, to, signal && { signal });
  if (answer.kind !== 'answered')
    return { instance, code: answer.kind === 'unanswered' ? 'FORWARD_UNANSWERED' : 'NOT_REACHED' };
  const parsed = jsonOrUndefined(answer.text);
  const read = shape.safeParse(parsed);
  if (answer.status === 200 && read.success) return { body: read.data };
  const { code } = ofProblem.safeParse(parsed).data ?? { code: 'NOT_UNDERSTOOD' };
  return code === 'NOT_LEADER' ? {} : { instance, code };
}

/** `own`: its `open` does not count the others' accounts. */
export function cancelAllOfAll(
  forwarding: Forwarding,
  call: Call,
  own: Answer<CancelAllDocument>,
): Promise<OfAll<CancelAllDocument>> {
  return answerOfAll<CancelAllDocument>(forwarding, call, cancelAllAnswer, own, (bodies, allAnswered) => {
    const answers = bodies.map((body) => ({ body }));
    const { openHere: _here, ...merged } = mergeCancelAlls(answers, ({ code }) => code === 'UNDER_WAY');
    return { ...merged, open: merged.open || !allAnswered };
  });
}

/**
 * Accounts are left: no process held them, or theirs gave no answer. The same request again, under
 * its key, may reach them, and does nothing twice.
 */
export function leavesAccounts(answer: OfAll<CancelAllDocument>): boolean {
  if (answer.kind === 'unanswered') return true;
  if (answer.kind === 'declined') return isOfThisProcess(answer.code);
  const { declined, unanswered = [] } = answer.body;
  return [...declined, ...unanswered].some(({ code }) => isOfThisProcess(code) || lost.has(code));
}

/** The process may be gone, and another may soon have its accounts. */
const lost: ReadonlySet<string> = new Set(['FORWARD_UNANSWERED', 'NOT_REACHED']);

export function reconcileOfAll(
  forwarding: Forwarding,
  call: Call,
  result: Answer<Reconciled>,
): Promise<OfAll<ReconcileDocument>> {
  const own = result.kind === 'done' ? mergeReports([result.report]) : result;
  return answerOfAll<ReconcileDocument>(forwarding, call, reconcileAnswer, own, mergeReports);
}

type CancelAfterDocument = z.infer<typeof cancelAfterAnswer>;

/**
 * Sets timers at the holders, for accounts this process declined. `own`: its own timers. Undefined:
 * the decline is the answer, because an account has no holder to ask. An answer other than 200 is
 * given back as it came: only an answer for all accounts can be relied on.
 */
export async function cancelAfterElsewhere(
  forwarding: Forwarding,
  call: Call,
  { afterMs, implied }: Pick<CancelAfter, 'afterMs' | 'implied'>,
  left: readonly string[],
  own: CancelAfterDocument,
): Promise<{ readonly kind: 'done'; readonly body: CancelAfterDocument } | FromElsewhere | undefined> {
  const holders = Map.groupBy(left, (accountId) => forwarding.others.holderOf(accountId)?.address);
  if (wasForwarded(call.request) || holders.has(undefined)) return undefined;
  const asked = [...holders].flatMap(([, accountIds]) => {
    const to = forwarding.others.holderOf(accountIds[0] ?? '');
    return to === undefined ? [] : [{ to, body: { seconds: afterMs / 1000, accountIds } }];
  });
  const answers = await Promise.all(
    asked.map(async ({ to, body }) => ({
      to,
      answer: await forwarding.send(call, to, { body, accountId: body.accountIds[0], implied }),
    })),
  );
  const done = [own];
  for (const { to, answer } of answers) {
    if (answer.kind === 'not_sent') return undefined;
    if (answer.kind === 'unanswered') return answer;
    const read = cancelAfterAnswer.safeParse(jsonOrUndefined(answer.text));
    if (answer.status !== 200 || !read.success) return { kind: 'answered', answer, by: to };
    done.push(read.data);
  }
  const [firesAt] = done.flatMap((each) => each.firesAt ?? []).sort();
  const accountIds = done.flatMap((each) => each.accountIds);
  return { kind: 'done', body: { accountIds, ...(firesAt !== undefined && { firesAt }) } };
}
