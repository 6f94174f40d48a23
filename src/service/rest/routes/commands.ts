import { z } from 'zod';
import { parseResolution, resolutionBody } from '../../../contract/command-bodies.ts';
import { queryShape } from '../../../contract/filter-shapes.ts';
import { commandFilters } from '../../../contract/list-filters.ts';
import {
  commandHistory,
  commandPage,
  commandAnswer as commandShape,
  probeAnswer,
} from '../../../contract/rest-answers.ts';
import { type Command, type CommandWithEvidence, isUnresolved } from '../../../domain/command.ts';
import { decodeUpdate } from '../../../domain/encode-update.ts';
import type { Order } from '../../../domain/order.ts';
import { present } from '../../../domain/present.ts';
import { resembles } from '../../../domain/presumed-absent.ts';
import { recomputeVerdict, verdictRule } from '../../../domain/recompute-verdict.ts';
import type { ResolvingUpdate } from '../../../domain/resolving.ts';
import { unlessAborted } from '../../../runtime/waiting.ts';
import type { AccountScope, OrderReads } from '../../../store/orders/order-reads.ts';
import { operatorWordOf, refuseScope } from '../auth/operator-scope.ts';
import { commandAnswer, commandTimeline } from '../command-answer.ts';
import { wasForwarded } from '../instances/forwarding.ts';
import { longActMs } from '../instances/over-instances.ts';
import { probeAll } from '../instances/probe-all.ts';
import {
  accountField,
  cursorField,
  idKinds,
  limitField,
  optionalFlag,
  pageDefault,
  positionField,
} from '../request-fields.ts';
import { preferredWaitSeconds } from '../request-headers.ts';
import { anyRead, atHolder, ofBody, type Route, type RouteParts, route } from '../route.ts';
import { readStore, sendJson, sendProblem } from '../send-answer.ts';
import { sendCommandState, sendNotDone } from '../send-command.ts';
import { requestedAnswer } from './halts.ts';

/** When a page's last command was made, and its id. */
const commandPosition = z.tuple([positionField, z.string().regex(idKinds.commandId)]);

export const listCommands = route({
  ...anyRead,
  path: '/v1/commands',
  operationId: 'listCommands',
  summary: 'List commands',
  describe: 'Newest first, of every principal, for the accounts of the token.',
  tag: 'commands',
  query: z.strictObject({
    ...queryShape(commandFilters),
    limit: limitField,
    cursor: cursorField,
  }),
  answers: { 200: { describe: 'A page of commands', schema: commandPage } },
  problems: ['INVALID_CURSOR', 'ACCOUNT_NOT_FOUND'],
  handle: ({ reads, pages }, call) => {
    const { limit = pageDefault, cursor, ...filter } = call.query;
    const read = (after: readonly string[] | undefined) =>
      readStore(reads.listCommands(call.principal.accounts, filter, after, limit));
    return pages.send(call, { list: 'commands', filter, cursor, position: commandPosition }, read, commandText);
  },
});

function commandText(command: Command): string {
  return JSON.stringify(commandAnswer(command));
}

/** The most that is read before it is known how much the verdict takes. */
const factRows = 200;

export const showCommand: Route = {
  ...anyRead,
  path: '/v1/commands/{commandId}',
  operationId: 'getCommand',
  summary: 'Read one command with everything that is known about it',
  describe:
    'Attempts and evidence, also merged in one timeline. With `Prefer: wait` the answer is held until its result is final.',
  tag: 'commands',
  headers: ['Prefer'],
  answers: {
    200: { describe: 'The command', schema: commandHistory, headers: ['Location', 'Preference-Applied'] },
    202: {
      describe: 'The command, whose result is not known yet',
      schema: commandHistory,
      headers: ['Location', 'Preference-Applied', 'Retry-After'],
    },
  },
  // The command with its evidence. Where more is read for the verdict, it needs room for that.
  rows: factRows,
  handle: async (parts, { request, reply, principal, params, outsideGate }) => {
    const { commandId = '' } = params;
    const { reads } = parts;
    let found = await readStore(reads.findCommand(principal.accounts, commandId));
    if (found === undefined) return sendProblem(reply, 'COMMAND_NOT_FOUND');
    const waitSeconds = preferredWaitSeconds(request.headers['prefer']);
    if (waitSeconds !== undefined) {
      reply.header('preference-applied', `wait=${waitSeconds}`);
      if (isUnresolved(found.command.state) || found.command.state === 'accepted') {
        if (!(await outsideGate?.(() => news(parts, commandId, waitSeconds * 1000)))) return undefined;
        found = (await readStore(reads.findCommand(principal.accounts, commandId))) ?? found;
      }
    }
    const plan = await readStore(planVerdict(reads, principal.accounts, found));
    const rows = found.evidence.length + plan.rows + (mayHaveHints(found.command) ? 2 * lookedAt : 0);
    if (rows > factRows && !(await outsideGate?.(() => Promise.resolve(), rows))) return undefined;
    const [hints, recomputed] = await readStore(
      Promise.all([findHints(reads, principal.accounts, found.command), plan.recompute()]),
    );
    return sendCommandState(parts, reply, found.command, historyBody(found, hints, recomputed));
  },
};

function historyBody({ command, evidence }: CommandWithEvidence, hints: readonly string[], recomputed: object) {
  return {
    ...commandAnswer(command, evidence),
    hints: hints.length === 0 ? undefined : hints,
    recomputed,
    timeline: commandTimeline(command, evidence),
  };
}

/** Resolves when the command is final, after `waitMs`, or when the server drains. */
async function news({ commands, draining }: RouteParts, commandId: string, waitMs: number): Promise<void> {
  await unlessAborted(commands.wait(commandId, waitMs), draining).catch((error: unknown) => {
    if (!draining.aborted) throw error;
  });
}

export const resolveCommand = route({
  method: 'POST',
  path: '/v1/commands/{commandId}/resolution',
  operationId: 'resolveCommand',
  summary: 'Say what became of a command',
  describe: 'A person’s word, recorded with the reason: for a command that is `unknown`, `accepted` or in `conflict`.',
  tag: 'commands',
  scopes: ['ops:write'],
  body: resolutionBody,
  parse: parseResolution,
  answers: {
    200: { describe: 'The command as it is resolved', schema: commandShape, headers: ['Location'] },
    202: requestedAnswer,
  },
  problems: [...ofBody, 'ALREADY_RESOLVED', 'TOO_MANY_APPROVALS', ...atHolder],
  handle: async (parts, call) => {
    const { commands, reads, forwarding } = parts;
    const { reply, principal, params, body } = call;
    const { commandId = '' } = params;
    const found = await readStore(reads.findCommand(principal.accounts, commandId));
    if (found === undefined) return sendProblem(reply, 'COMMAND_NOT_FOUND');
    const { accountId } = found.command.request;
    const resolve = () => commands.operator.resolve(commandId, body.result, operatorWordOf(call));
    const result = await forwarding.enter(call, accountId, resolve);
    return result.kind === 'done' ? sendCommandState(parts, reply, result.command) : sendNotDone(reply, result);
  },
});

export const probe = route({
  method: 'POST',
  path: '/v1/probe',
  operationId: 'probeCommands',
  summary: 'Ask the platform at once about every command with an unknown result',
  describe: 'Within the budget of probes. It only reads: it never places and never cancels.',
  tag: 'operations',
  scopes: ['ops:write'],
  query: z.strictObject({
    accountId: accountField.exactOptional(),
    dryRun: optionalFlag.describe('Only say what would be read'),
  }),
  answers: { 200: { describe: 'What was read, or would be, and what it resolved', schema: probeAnswer } },
  problems: ['EVERY_ACCOUNT_NEEDED', 'ACCOUNT_NOT_FOUND', ...atHolder],
  handle: async (parts, call) => {
    const { commands, forwarding } = parts;
    const { reply } = call;
    const { accountId, dryRun = false } = call.query;
    const refused = accountId === undefined ? refuseScope(call, { kind: 'service' }) : undefined;
    if (refused !== undefined) return refused;
    const patient = { ...call, patienceMs: longActMs };
    if (accountId === undefined && !wasForwarded(call.request)) {
      const result = await probeAll(parts, patient, dryRun);
      return result.kind === 'done' ? sendJson(reply, result.body) : sendNotDone(reply, result);
    }
    const look = () => commands.probeNow(present({ dryRun, accountId }));
    const result = await forwarding.enter(patient, accountId, look);
    return result.kind === 'done' ? sendJson(reply, result.report) : sendNotDone(reply, result);
  },
});

/**
 * The most orders read, for open and closed ones each. A missed hint costs nothing: an order that
 * lost our reference is rare, and a person looks further.
 */
const lookedAt = 100;
const mostHints = 5;

function mayHaveHints({ request, state }: Command): boolean {
  return request.kind === 'place' && state === 'unknown';
}

/**
 * Ids of orders that fit an unknown place and have no reference to explain them, for the person who
 * has to resolve it. The platform may have lost our reference, or another program may have placed
 * the same: nothing is concluded from it (docs/commands.md, "How unknown is resolved").
 */
export async function findHints(
  reads: Pick<OrderReads, 'listOrders'>,
  scope: AccountScope,
  command: Command,
): Promise<readonly string[]> {
  const { request } = command;
  if (request.kind !== 'place' || !mayHaveHints(command)) return [];
  const filter = { stream: request.stream, accountId: request.accountId, symbol: request.terms.symbol };
  const pages = await Promise.all(
    [true, false].map((open) => reads.listOrders(scope, { ...filter, open }, undefined, lookedAt)),
  );
  return pages
    .flatMap(({ items }) => items)
    .filter((stored) => resembles(command, JSON.parse(stored.state) as Order))
    .slice(0, mostHints)
    .map(({ orderId }) => orderId);
}

/** Of all its orders together, the newest of each: a history is read from its newest end. */
const mostUpdates = 500;
const mostOrders = 4;

interface Updates {
  readonly updates: readonly ResolvingUpdate[];
  /** False: there are more, or the log does not have the first ones any more. */
  readonly complete: boolean;
}

/**
 * The verdict again, from the facts alone, with its rule: `{ state, because, rule, agrees, complete
 * }`. `agrees` is about the command as it was read before: an update may have been stored since
 * then, and the step from it comes within moments. `rows`: how many updates `recompute` will read.
 */
async function planVerdict(
  reads: Pick<OrderReads, 'getOrder' | 'history'>,
  scope: AccountScope,
  { command, evidence }: CommandWithEvidence,
) {
  const { request, orderId, baseline } = command;
  const named = evidence.map(({ detail }) => detail['orderId']).filter((id) => typeof id === 'string');
  const orderIds = [...new Set(orderId === undefined ? named : [orderId, ...named])];
  const looked = orderIds.slice(0, mostOrders);
  const most = Math.floor(mostUpdates / Math.max(1, looked.length));
  const base = baseline?.revision ?? 0;
  const runs = await Promise.all(
    looked.map(async (id) => {
      // An order that is not there, or not in the scope, adds nothing.
      const { revision = 0 } = (await reads.getOrder(scope, request.stream, id)) ?? {};
      return { id, above: Math.max(base, revision - most), rows: Math.max(0, Math.min(most, revision - base)) };
    }),
  );
  /** Only the history above the baseline counts. */
  const updatesOf = async ({ id, above }: (typeof runs)[number]): Promise<Updates> => {
    const page = await reads.history(scope, request.stream, id, above, most + 1);
    const updates = (page ?? []).map(({ payload }) => decodeUpdate(payload));
    return { updates, complete: updates.length <= most && (updates[0]?.revision ?? above + 1) === base + 1 };
  };
  const recompute = async () => {
    const known = await Promise.all(runs.map(updatesOf));
    const verdict = recomputeVerdict(
      command,
      evidence,
      known.flatMap(({ updates }) => updates),
    );
    const isWhole = looked.length === orderIds.length && evidence.every(({ number }, at) => number === at + 1);
    const complete = isWhole && known.every((each) => each.complete);
    return { ...verdict, rule: verdictRule(request, verdict), complete };
  };
  return { rows: runs.reduce((sum, { rows }) => sum + rows, 0), recompute };
}
