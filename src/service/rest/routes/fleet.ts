import { parseReason, reasonBody } from '../../../contract/command-bodies.ts';
import { fleetAnswer } from '../../../contract/fleet-answer.ts';
import type { FleetActions, FleetWord } from '../../../store/fleet/fleet-actions.ts';
import { refuseScope } from '../auth/operator-scope.ts';
import { readStore } from '../problem.ts';
import { ofBody } from '../problem-codes.ts';
import type { IdKind } from '../request-fields.ts';
import type { Route } from '../route.ts';
import { sendBodyFaults, sendJson, sendProblem } from '../send-answer.ts';

export const showFleet: Route = {
  method: 'GET',
  path: '/v1/fleet',
  operationId: 'getFleet',
  summary: 'Read which process holds which shards',
  describe: 'From the database, so every instance gives the same answer. Shards name no account.',
  tag: 'service',
  scopes: ['ops:read'],
  answers: { 200: { describe: 'Each lane with its process and its shards', schema: fleetAnswer } },
  rows: 50,
  handle: async ({ service }, { reply }) => sendJson(reply, 200, await readStore(service.fleet())),
};

export const drainInstance = fleetRoute({
  path: '/v1/fleet/instances/{instance}/drain',
  operationId: 'drainInstance',
  summary: 'Have a process give its shards to the others',
  describe:
    'Its weight counts as 0 until it is undrained, or ends. It gives one shard after the other, goes on, and still forwards commands. While no other process wants shards, it keeps them.',
  on: { instance: 'instance' },
  missing: 'INSTANCE_NOT_FOUND',
  act: (fleet, { instance = '' }, word) => fleet.drain(instance, true, word),
});

export const undrainInstance = fleetRoute({
  path: '/v1/fleet/instances/{instance}/undrain',
  operationId: 'undrainInstance',
  summary: 'Have a process take shards again',
  describe: 'It gets its part by weight, one shard every 5 s at most.',
  on: { instance: 'instance' },
  missing: 'INSTANCE_NOT_FOUND',
  act: (fleet, { instance = '' }, word) => fleet.drain(instance, false, word),
});

export const pinShard = fleetRoute({
  path: '/v1/fleet/shards/{shard}/pin',
  operationId: 'pinShard',
  summary: 'Keep a shard with its process',
  describe:
    'It is not given for balance until it is unpinned. It still moves when its process is drained, is stopped or dies, and is pinned to the next one then.',
  on: { shard: 'shard' },
  missing: 'SHARD_NOT_FOUND',
  act: (fleet, { shard = '' }, word) => fleet.pin(Number(shard), true, word),
});

export const unpinShard = fleetRoute({
  path: '/v1/fleet/shards/{shard}/unpin',
  operationId: 'unpinShard',
  summary: 'Let a shard move for balance again',
  describe: 'It moves only where its process has more than its part.',
  on: { shard: 'shard' },
  missing: 'SHARD_NOT_FOUND',
  act: (fleet, { shard = '' }, word) => fleet.pin(Number(shard), false, word),
});

interface FleetAct extends Pick<Route, 'path' | 'operationId' | 'summary' | 'describe'> {
  readonly on: Readonly<Record<string, IdKind>>;
  readonly missing: 'INSTANCE_NOT_FOUND' | 'SHARD_NOT_FOUND';
  /** False: it does not exist. */
  readonly act: (fleet: FleetActions, params: Readonly<Record<string, string>>, word: FleetWord) => Promise<boolean>;
}

function fleetRoute({ on, missing, act, ...named }: FleetAct): Route {
  return {
    method: 'POST',
    ...named,
    tag: 'operations',
    scopes: ['ops:write'],
    params: on,
    body: reasonBody,
    answers: { 200: { describe: 'The fleet now; shards move during the next seconds', schema: fleetAnswer } },
    problems: [...ofBody, 'EVERY_ACCOUNT_NEEDED', missing],
    handle: async ({ fleet, service }, { request, reply, principal, params }) => {
      const refused = refuseScope({ reply, principal }, { kind: 'service' });
      if (refused !== undefined) return refused;
      const body = parseReason(request.body);
      if (!body.ok) return sendBodyFaults(reply, 'INVALID_BODY', body.faults);
      const word = { by: principal.name, reason: body.reason, requestId: request.id };
      if (!(await readStore(act(fleet, params, word)))) return sendProblem(reply, missing);
      return sendJson(reply, 200, await readStore(service.fleet()));
    },
  };
}
