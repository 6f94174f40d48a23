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
import type { CancelAllResult, ReconcileReport, ReconcileResult } from '../../commands/commands.ts';
import type { OtherInstance } from '../../fleet/other-instances.ts';
import type { Call } from '../route.ts';
import { sendJson } from '../send-answer.ts';
import { sendDecline } from '../send-command.ts';
import {
  type Forwarding,
  giveBack,
  isOfThisProcess,
  jsonOrUndefined,
  sendUnanswered,
  wasForwarded,
} from './forwarding.ts';

// One request for the accounts of several processes: each is
// asked once, and the answers are made one.

interface Declined {
  readonly code: string;
}

type ReconcileDocument = z.infer<typeof reconcileAnswer>;
type Unanswered = NonNullable<CancelAllDocument['unanswered']>;

/**
 * How long an instance may take for its own part: a cancel-all waits 20 s for its cancels. One that
 * is frozen is left out as soon as the fleet goes on without it.
 */
export const cancelAllMs = 20_000;

/**
 * Asks every other instance the same, and answers with one body. `own`: the answer of this process,
 * or why it has none. False: `own` is the answer, because no instance did anything, or because the
 * request was forwarded: then this process answers for itself alone. It does not resolve with the
 * reply, which would be awaited itself.
 */
async function answerOfAll<Body extends { readonly unanswered?: Unanswered | undefined }>(
  forwarding: Forwarding,
  call: Call,
  shape: z.ZodType<Body>,
  own: Body | Declined,
  merge: (bodies: readonly Body[], allAnswered: boolean) => Body,
): Promise<boolean> {
  const { request, reply } = call;
  const isDone = !('code' in own);
  if (wasForwarded(request) || (!isDone && !isOfThisProcess(own.code))) return false;
  const patient = { ...call, patienceMs: cancelAllMs };
  const answers = await Promise.all(forwarding.others.all().map((to) => ask(forwarding, patient, shape, to)));
  const unanswered = answers.flatMap((answer) => ('instance' in answer ? [answer] : []));
  const bodies = [...(isDone ? [own] : []), ...answers.flatMap((answer) => ('body' in answer ? [answer.body] : []))];
  const mayBeDone = unanswered.some(({ code }) => code === 'FORWARD_UNANSWERED');
  if (bodies.length === 0 && !mayBeDone) return false;
  const allAnswered = unanswered.length === 0;
  if (bodies.length === 0) sendUnanswered(reply);
  else sendJson(reply, 200, { ...merge(bodies, allAnswered), ...(!allAnswered && { unanswered }) });
  return true;
}

/** What is shown every few seconds does not wait longer for a process that may be frozen. */
const answerWithinMs = 2_000;

/** `own`, with the states of accounts that other processes follow, as these give them. */
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
 * Asks each the same as `call` asks here, and waits two seconds at most. A request that was
 * forwarded asks no other instance.
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
  // A request that is too late is given up: it would hold a place among those in flight.
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

/** `{}`: it has none of the accounts. */
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

/** `body`: makes the answer of what this process did. */
export async function cancelAllOfAll(
  forwarding: Forwarding,
  call: Call,
  result: CancelAllResult,
  body: (done: Extract<CancelAllResult, { kind: 'done' }>) => CancelAllDocument,
): Promise<FastifyReply> {
  if (result.kind === 'declined')
    return (await answerOfAll(forwarding, call, cancelAllAnswer, result, mergeCancelAlls))
      ? call.reply
      : sendDecline(call.reply, result);
  const { open, openHere = open } = result;
  const own = { ...body(result), open: openHere };
  return (await answerOfAll(forwarding, call, cancelAllAnswer, own, mergeCancelAlls))
    ? call.reply
    : sendJson(call.reply, 200, own);
}

/** Each order once: an instance that knows the key shows the record of other shards, too. */
function mergeCancelAlls(bodies: readonly CancelAllDocument[], allAnswered: boolean): CancelAllDocument {
  const refused = bodies.map(({ declined }) => new Set(declined.filter(isLeftOut).map(({ accountId }) => accountId)));
  const all = bodies.flatMap(({ declined }) => declined);
  // Of an account that one instance took, the others need say nothing.
  const declined = firstOf(
    all.filter((each) => !isLeftOut(each) || refused.every((accounts) => accounts.has(each.accountId))),
    ({ accountId, code }) => `${accountId} ${code}`,
  );
  return {
    open: !allAnswered || bodies.some(({ open }) => open) || declined.some(isLeftOut),
    inForce: bodies.some(({ inForce }) => inForce),
    orders: firstOf(
      // One whose outcome is known goes before the same that is under way.
      bodies
        .flatMap(({ orders }) => orders)
        .sort((a, b) => Number(a.code === 'UNDER_WAY') - Number(b.code === 'UNDER_WAY')),
      ({ stream, orderId }) => `${stream} ${orderId}`,
    ),
    places: firstOf(
      bodies.flatMap(({ places }) => places),
      ({ commandId }) => commandId,
    ),
    unread: firstOf(
      bodies.flatMap(({ unread }) => unread),
      ({ accountId, stream }) => `${stream} ${accountId}`,
    ),
    declined,
  };
}

/** Another process holds the account. */
function isLeftOut({ code }: { readonly code: string }): boolean {
  return code === 'NOT_LEADER';
}

function firstOf<T>(all: readonly T[], keyOf: (each: T) => string): T[] {
  return [...Map.groupBy(all, keyOf).values()].flatMap(([first]) => (first === undefined ? [] : [first]));
}

export async function reconcileOfAll(
  forwarding: Forwarding,
  call: Call,
  result: ReconcileResult,
): Promise<FastifyReply> {
  if (result.kind === 'declined')
    return (await answerOfAll(forwarding, call, reconcileAnswer, result, mergeReports))
      ? call.reply
      : sendDecline(call.reply, result);
  const own = mergeReports([result.report]);
  return (await answerOfAll(forwarding, call, reconcileAnswer, own, mergeReports))
    ? call.reply
    : sendJson(call.reply, 200, own);
}

function mergeReports(bodies: readonly (ReconcileDocument | ReconcileReport)[]): ReconcileDocument {
  return {
    unresolved: bodies.reduce((sum, { unresolved }) => sum + unresolved, 0),
    probes: bodies.reduce((sum, { probes }) => sum + probes, 0),
    settled: bodies.flatMap(({ settled }) => [...settled]),
    plan: bodies.flatMap(({ plan }) => plan.map((each) => ({ ...each, commands: [...each.commands] }))),
  };
}

type CancelAfterDocument = z.infer<typeof cancelAfterAnswer>;

/**
 * Sets the timers of accounts that this process declined, at their holders. `own`:
 * what it has set itself. False: the decline is the answer, because an account has no
 * holder that can be asked. An answer that is not 200 is given back as it came: only
 * an answer for all accounts is one to rely on.
 */
export async function cancelAfterElsewhere(
  forwarding: Forwarding,
  call: Call,
  seconds: number,
  left: readonly string[],
  own: CancelAfterDocument,
): Promise<boolean> {
  const { request, reply } = call;
  const holders = Map.groupBy(left, (accountId) => forwarding.others.holderOf(accountId)?.address);
  if (wasForwarded(request) || holders.has(undefined)) return false;
  const asked = [...holders].flatMap(([, accountIds]) => {
    const to = forwarding.others.holderOf(accountIds[0] ?? '');
    return to === undefined ? [] : [{ to, body: { seconds, accountIds } }];
  });
  const answers = await Promise.all(
    asked.map(async ({ to, body }) => ({
      to,
      answer: await forwarding.send(call, to, { body, accountId: body.accountIds[0] }),
    })),
  );
  const done = [own];
  for (const { to, answer } of answers) {
    if (answer.kind === 'not_sent') return false;
    if (answer.kind === 'unanswered') {
      sendUnanswered(reply);
      return true;
    }
    const read = cancelAfterAnswer.safeParse(jsonOrUndefined(answer.text));
    if (answer.status !== 200 || !read.success) {
      giveBack(reply, answer, to);
      return true;
    }
    done.push(read.data);
  }
  const [firesAt] = done.flatMap((each) => each.firesAt ?? []).sort();
  sendJson(reply, 200, {
    accountIds: done.flatMap(({ accountIds }) => accountIds),
    ...(firesAt !== undefined && { firesAt }),
  });
  return true;
}
