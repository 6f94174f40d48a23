import { z } from 'zod';
import { type AccountListDocument, accountList } from '../../../contract/account-answers.ts';
import { type CancelAllDocument, cancelAfterAnswer, cancelAllAnswer } from '../../../contract/rest-answers.ts';
import { jsonOrUndefined } from '../../../runtime/json-or-undefined.ts';
import { type Answer, anotherLeads, type Done, isDeclined, isOfThisProcess } from '../../commands/answer.ts';
import type { OtherInstance } from '../../fleet/other-instances.ts';
import type { Call, RouteParts } from '../route.ts';
import { type AnyCall, type Forwarding, type FromElsewhere, problemCode, wasForwarded } from './forwarding.ts';

// One request for several processes' accounts: each is asked the same, whole, and does its own
// part. The answers are joined.

/**
 * How long an instance may take for its own part: a cancel-all waits 20 s for its cancels, a
 * `probe` for its reads. A frozen one is left out as soon as the fleet goes on without it.
 */
export const longActMs = 20_000;

/** `unanswered`: none has done anything for certain, and one answer was lost. */
type OfAll<Body> = Answer<Done<{ body: Body }>> | FromElsewhere;

interface Act<Body> {
  readonly shape: z.ZodType<Body>;
  /** This process's part, or why it did nothing. */
  readonly run: () => Promise<Answer<Done<{ body: Body }>>>;
  /** Only the holders of these are asked; left out: every instance. */
  readonly accountIds?: readonly string[];
}

interface Asked<Body> {
  readonly own: Answer<Done<{ body: Body }>>;
  /** Of all processes that did something. */
  readonly bodies: readonly Body[];
  readonly missing: readonly Missing[];
}

interface Part {
  /** Accounts of which it has done nothing, and why. */
  readonly declined?: readonly { readonly accountId: string; readonly code: string }[] | undefined;
}

interface Missing {
  readonly instance: string;
  readonly code: string;
  /** Left out: it was not sent. */
  readonly given?: FromElsewhere;
}

/** `{}`: its accounts are another one's. */
async function ask<Body>(
  forwarding: Forwarding,
  call: AnyCall,
  shape: z.ZodType<Body>,
  to: OtherInstance,
  signal?: AbortSignal,
): Promise<{ readonly body: Body } | Missing | Record<never, never>> {
  const { instance } = to;
  const answer = await forwarding.send(call, to, signal && { signal });
  if (answer.kind === 'not_sent') return { instance, code: 'NOT_REACHED' };
  if (answer.kind === 'unanswered') return { instance, code: 'FORWARD_UNANSWERED', given: answer };
  const read = shape.safeParse(jsonOrUndefined(answer.text));
  if (answer.status === 200 && read.success) return { body: read.data };
  const code = problemCode(answer) || 'NOT_UNDERSTOOD';
  return isOfThisProcess(code) ? {} : { instance, code, given: { kind: 'answered', answer, by: to } };
}

/**
 * Asks this process and the others once. A forwarded request is answered for this process alone,
 * and so is one that it refuses.
 */
export async function askAll<Body>(
  forwarding: Forwarding,
  call: AnyCall,
  { shape, run, accountIds }: Act<Body>,
): Promise<Asked<Body>> {
  const own = await run();
  const mine = isDeclined(own) ? [] : [own.body];
  const isRefused = isDeclined(own) && !isOfThisProcess(own.code);
  if (isRefused || wasForwarded(call.request)) return { own, bodies: mine, missing: [] };
  const holders = accountIds?.flatMap((accountId) => forwarding.others.holderOf(accountId) ?? []);
  const others = new Map((holders ?? forwarding.others.all()).map((each) => [each.address, each]));
  const answers = await Promise.all([...others.values()].map((to) => ask(forwarding, call, shape, to)));
  return {
    own,
    bodies: [...mine, ...answers.flatMap((answer) => ('body' in answer ? [answer.body] : []))],
    missing: answers.flatMap((answer) => ('instance' in answer ? [answer] : [])),
  };
}

/**
 * The same, again and again while an account had no process, or its process gave no answer: that
 * one may be gone, and another may soon have its accounts. The request does nothing twice.
 */
function askAllUntilHeld<Body extends Part>(
  forwarding: Forwarding,
  call: AnyCall,
  act: Act<Body>,
): Promise<Asked<Body>> {
  return forwarding.again(
    call,
    () => askAll(forwarding, call, act),
    ({ own, bodies, missing }) => {
      if (bodies.length === 0 && isDeclined(own)) return own.code;
      // Named accounts: one that is refused has the whole request refused.
      if (act.accountIds !== undefined && missing.some((each) => !isLost(each))) return '';
      return unheldOf(bodies).size > 0 || missing.some(isLost) ? 'NOT_LEADER' : '';
    },
  );
}

function isLost({ given }: Missing): boolean {
  return given?.kind !== 'answered';
}

/** Accounts that no process had. If one took an account, the others need say nothing. */
function unheldOf(bodies: readonly Part[]): ReadonlySet<string> {
  const [first = new Set<string>(), ...rest] = bodies.map(({ declined = [] }) => {
    return new Set(declined.flatMap(({ accountId, code }) => (isOfThisProcess(code) ? [accountId] : [])));
  });
  return new Set([...first].filter((accountId) => rest.every((each) => each.has(accountId))));
}

export function unansweredOf(missing: readonly Missing[]) {
  return missing.length > 0 && { unanswered: missing.map(({ instance, code }) => ({ instance, code })) };
}

/** Each order, place and account once: a holder with the key shows the others' record, too. */
export async function cancelAllOfAll(
  forwarding: Forwarding,
  call: AnyCall,
  run: Act<CancelAllDocument>['run'],
): Promise<OfAll<CancelAllDocument>> {
  const { own, bodies, missing } = await askAllUntilHeld(forwarding, call, { shape: cancelAllAnswer, run });
  if (bodies.length === 0) return missing.find(({ given }) => given?.kind === 'unanswered')?.given ?? own;
  // Its sender knows which accounts another process has.
  if (wasForwarded(call.request)) return own;
  const unassigned = unheldOf(bodies);
  const body: CancelAllDocument = {
    open: bodies.some(({ open }) => open) || unassigned.size > 0 || missing.length > 0,
    inForce: bodies.some(({ inForce }) => inForce),
    orders: firstOf(
      bodies.flatMap(({ orders }) => orders),
      ({ stream, orderId }) => `${stream} ${orderId}`,
      // A known result goes before the same one under way.
      ({ code }) => code !== 'UNDER_WAY',
    ),
    places: firstOf(
      bodies.flatMap(({ places }) => places),
      ({ commandId }) => commandId,
    ),
    unread: firstOf(
      bodies.flatMap(({ unread }) => unread),
      ({ accountId, stream }) => `${stream} ${accountId}`,
    ),
    declined: firstOf(
      bodies.flatMap(({ declined }) => declined),
      ({ accountId, code }) => `${accountId} ${code}`,
    ).filter(({ accountId, code }) => !isOfThisProcess(code) || unassigned.has(accountId)),
    ...unansweredOf(missing),
  };
  return { kind: 'done', body };
}

/** For each key the first `better` one, or the first. */
function firstOf<T>(all: readonly T[], keyOf: (each: T) => string, better: (each: T) => boolean = () => true): T[] {
  return [...Map.groupBy(all, keyOf).values()].flatMap((alike) => alike.find(better) ?? alike.slice(0, 1));
}

/** Between instances it names the accounts that another process has. */
const timersPart = cancelAfterAnswer.extend({
  declined: z.array(z.object({ accountId: z.string(), code: z.string() })).optional(),
});
type TimersPart = z.infer<typeof timersPart>;

/**
 * Sets timers at the holders of all these accounts. Only an answer for all of them can be relied
 * on: an answer other than 200 is given back as it came.
 */
export async function cancelAfterOfAll(
  forwarding: Forwarding,
  call: AnyCall,
  run: Act<TimersPart>['run'],
  accountIds: readonly string[],
): Promise<OfAll<TimersPart>> {
  const act = { shape: timersPart, run, accountIds };
  const { own, bodies, missing } = await askAllUntilHeld(forwarding, call, act);
  if (wasForwarded(call.request)) return own;
  const refused = missing.find((each) => !isLost(each)) ?? missing.find(({ given }) => given);
  if (refused?.given !== undefined) return refused.given;
  if (missing.length > 0 || unheldOf(bodies).size > 0) return anotherLeads;
  if (bodies.length === 0) return own;
  const [firesAt] = bodies.flatMap((each) => each.firesAt ?? []).sort();
  const set = [...new Set(bodies.flatMap((each) => each.accountIds))];
  return { kind: 'done', body: { accountIds: set, firesAt } };
}

/** What is shown every few seconds does not wait longer for a process that may be frozen. */
const answerWithinMs = 2_000;

/** `own`, with the states other processes give for the accounts they follow. */
export async function accountsOfAll(
  parts: Pick<RouteParts, 'forwarding' | 'clock'>,
  call: Call,
  own: AccountListDocument,
): Promise<AccountListDocument> {
  const isElsewhere = ({ state }: AccountListDocument['items'][number]) => state === 'elsewhere';
  if (!own.items.some(isElsewhere)) return own;
  const holders = new Set(own.items.filter(isElsewhere).map(({ instance }) => instance));
  const asked = parts.forwarding.others.all().filter(({ instance }) => holders.has(instance));
  const answers = await askOthers(parts, call, accountList, asked);
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
  { forwarding, clock }: Pick<RouteParts, 'forwarding' | 'clock'>,
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
