import type { FleetDocument, FleetLane } from '../../contract/fleet-answer.ts';
import { formatInstant } from '../../domain/instant.ts';
import { plural } from '../../runtime/plural.ts';
import type { Fleet, LaneMember, OrphanLane } from './shard-store.ts';

/** One look at the fleet, as people and programs see it. `nowMs`: wall time of the look. */
export function fleetDocument({ members, assignments, orphans }: Fleet, nowMs: number): FleetDocument {
  const shardsOf = (lane: number) =>
    assignments.filter((assignment) => assignment.lane === lane).map(({ shard }) => shard);
  const lanes = [
    ...members.map((member) => laneOf(member, shardsOf(member.lane), nowMs)),
    ...orphans.map((orphan) => orphanOf(orphan, shardsOf(orphan.lane), nowMs)),
  ].sort((a, b) => a.lane - b.lane);
  const free = assignments.filter(({ lane }) => lane === undefined).map(({ shard }) => shard);
  const faults = [...(free.length === 0 ? [] : [`${plural(free.length, 'shard')} free`]), ...lanes.flatMap(faultOf)];
  const processes = lanes.filter(({ state }) => state === 'live' || state === 'draining').length;
  return {
    at: formatInstant(nowMs),
    verdict: [
      plural(assignments.length, 'shard'),
      plural(processes, 'process', 'processes'),
      ...(faults.length > 0 ? faults : ['all held']),
    ].join(', '),
    allHeld: faults.length === 0,
    shards: assignments.length,
    free,
    pinned: assignments.filter(({ pinned }) => pinned).map(({ shard }) => shard),
    lanes,
  };
}

function laneOf(member: LaneMember, shards: readonly number[], nowMs: number): FleetLane {
  const { lane, holder, weight, address = null, version, draining, drained, unwell, livedMs } = member;
  const finisher = holder.endsWith(finisherSuffix);
  const state = finisher ? 'finished_by_another' : draining ? 'draining' : 'live';
  const since = formatInstant(nowMs - livedMs);
  const unhealthy = unwell?.unhealthy === true ? unwell.trouble : null;
  return { lane, state, holder, since, weight, drained, unhealthy, shards: [...shards], address, version };
}

/** A process that finishes another's lane holds it under its own name with this at the end. */
export const finisherSuffix = '/finisher';

function orphanOf({ lane, idleMs }: OrphanLane, shards: readonly number[], nowMs: number): FleetLane {
  const none = { holder: null, weight: 0, drained: false, unhealthy: null, address: null, version: null };
  return { lane, state: 'without_process', since: formatInstant(nowMs - idleMs), shards: [...shards], ...none };
}

function faultOf({ lane, state, shards }: FleetLane): string[] {
  if (state === 'live' || state === 'draining') return [];
  const what = state === 'without_process' ? 'without a process' : 'finished by another';
  return [`lane ${lane} ${what}${shards.length === 0 ? '' : ` (${plural(shards.length, 'shard')})`}`];
}
