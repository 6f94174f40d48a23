import { fleetAnswer } from '../../../contract/fleet-answer.ts';
import type { PersonsWord } from '../../../store/commands/read-audit-trail.ts';
import type { FleetActions } from '../../../store/fleet/fleet-actions.ts';
import { refuseScope, wordOf } from '../auth/operator-scope.ts';
import { notFound } from '../request-fields.ts';
import { ofBody, operatorAct, operatorRead, type Route, route } from '../route.ts';
import { readStore, sendJson, sendProblem } from '../send-answer.ts';

export const showFleet: Route = {
  ...operatorRead,
  path: '/v1/fleet',
  operationId: 'getFleet',
  summary: 'Read which process holds which shards',
  describe: 'From the database, so every instance gives the same answer. Shards name no account.',
  tag: 'service',
  answers: { 200: { describe: 'Each lane with its process and its shards', schema: fleetAnswer } },
  rows: 50,
  handle: async ({ service }, { reply }) => sendJson(reply, await readStore(service.fleet())),
};

export const drainInstance = fleetRoute({
  path: '/v1/fleet/instances/{instance}/drain',
  operationId: 'drainInstance',
  summary: 'Have a process give its shards to the others',
  describe:
    'Its weight counts as 0 until it is undrained, or ends. It gives one shard after the other, goes on, and still forwards commands. While no other process wants shards, it keeps them.',
  on: 'instance',
  act: (fleet, instance, word) => fleet.drain(instance, true, word),
});

export const undrainInstance = fleetRoute({
  path: '/v1/fleet/instances/{instance}/undrain',
  operationId: 'undrainInstance',
  summary: 'Have a process take shards again',
  describe: 'It gets its part by weight, one shard every 5 s at most.',
  on: 'instance',
  act: (fleet, instance, word) => fleet.drain(instance, false, word),
});

export const pinShard = fleetRoute({
  path: '/v1/fleet/shards/{shard}/pin',
  operationId: 'pinShard',
  summary: 'Keep a shard with its process',
  describe:
    'It is not given for balance until it is unpinned. It still moves when its process is drained, is stopped or dies, and is pinned to the next one then.',
  on: 'shard',
  act: (fleet, shard, word) => fleet.pin(Number(shard), true, word),
});

export const unpinShard = fleetRoute({
  path: '/v1/fleet/shards/{shard}/unpin',
  operationId: 'unpinShard',
  summary: 'Let a shard move for balance again',
  describe: 'It moves only where its process has more than its part.',
  on: 'shard',
  act: (fleet, shard, word) => fleet.pin(Number(shard), false, word),
});

interface FleetAct extends Pick<Route, 'path' | 'operationId' | 'summary' | 'describe'> {
  readonly on: 'instance' | 'shard';
  /** False: it does not exist. */
  readonly act: (fleet: FleetActions, id: string, word: PersonsWord) => Promise<boolean>;
}

function fleetRoute({ on, act, ...named }: FleetAct): Route {
  return route({
    ...operatorAct,
    ...named,
    tag: 'operations',
    answers: { 200: { describe: 'The fleet now; shards move during the next seconds', schema: fleetAnswer } },
    problems: [...ofBody, 'EVERY_ACCOUNT_NEEDED'],
    handle: async ({ fleet, service }, call) => {
      const { reply, params } = call;
      const refused = refuseScope(call, { kind: 'service' });
      if (refused !== undefined) return refused;
      if (!(await readStore(act(fleet, params[on] ?? '', wordOf(call))))) return sendProblem(reply, notFound[on]);
      return sendJson(reply, await readStore(service.fleet()));
    },
  });
}
