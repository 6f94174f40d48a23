import type { Random } from '../../../src/runtime/random.ts';
import { happens, oneOf } from '../../../src/sandbox/market/instruments.ts';
import { type DatabaseFaults, noDatabaseFaults } from '../database-rows.ts';
import { type BrokerFaults, noBrokerFaults } from '../world/memory-broker.ts';
import type { PlatformOptions } from '../world/memory-platform.ts';
import type { CommandWishes } from './command-plan.ts';
import { type EnemyPlan, noEnemy } from './enemy.ts';
import { noReadFaults, noStreamFaults, type ReadFaults, type StreamFaults } from './stream-faults.ts';

/** Single happenings that a run may hold. */
const incidents = [
  'crash',
  'freeze',
  'stop',
  'cut',
  'reset',
  'silence',
  'restart_platform',
  'burst',
  'correct',
  'gap',
  'lose_store',
  'renew_tokens',
  'revoke_tokens',
  'login_required',
  'database_down',
  'broker_down',
  'platform_down',
  'step_service_clock',
  'step_database_clock',
  'toggle_account',
] as const;
export type Incident = (typeof incidents)[number];

/**
 * What goes wrong in a run, drawn from its seed: usually a few kinds of faults
 * together, sometimes none, now and then all.
 */
export interface FaultPlan {
  readonly instances: number;
  readonly shards: number;
  /** Virtual time with faults. */
  readonly faultyMs: number;
  /** Mean time between two changes of orders, and between two incidents. */
  readonly changeEveryMs: number;
  readonly incidentEveryMs: number;
  readonly incidents: readonly Incident[];
  readonly platform: PlatformOptions;
  readonly pageSize: number;
  readonly stream: StreamFaults;
  readonly reads: ReadFaults;
  readonly database: DatabaseFaults;
  readonly broker: BrokerFaults;
  readonly enemy: EnemyPlan;
  /** Mean time between two acts of an operator on the fleet; undefined: there is none. */
  readonly operatorEveryMs: number | undefined;
  /** The probability with which an event lies on the way, with all that follows it. */
  readonly congested: number;
}

export function drawFaultPlan(random: Random): FaultPlan {
  const everything = happens(random, 0.05);
  const chosen = (probability: number) => everything || happens(random, probability);
  const faultyMs = oneOf(random, [3_000, 8_000, 8_000, 15_000, 30_000]);
  const openOrders = oneOf(random, [2, 6, 15]);
  return {
    instances: oneOf(random, [1, 1, 2, 2, 3, 5]),
    shards: oneOf(random, [1, 2, 4, 4, 16]),
    faultyMs,
    changeEveryMs: faultyMs / oneOf(random, [20, 60, 60, 150]),
    incidentEveryMs: oneOf(random, [700, 2000, 5000]),
    incidents: incidents.filter(() => chosen(0.25)),
    platform: {
      accounts: oneOf(random, [1, 2, 3, 5]),
      openOrders,
      knownOrders: oneOf(random, [0, 0, 5, 30]),
      predictionShare: oneOf(random, [0.3, 0.5, 0.8]),
    },
    pageSize: oneOf(random, [3, 20, 500]),
    stream: chosen(0.6) ? drawStreamFaults(random, chosen) : noStreamFaults,
    reads: chosen(0.4) ? drawReadFaults(random, chosen) : noReadFaults,
    database: chosen(0.4) ? drawDatabaseFaults(random, chosen) : noDatabaseFaults,
    broker: chosen(0.4) ? drawBrokerFaults(random, chosen) : noBrokerFaults,
    enemy: chosen(0.4) ? drawEnemy(random, chosen) : noEnemy,
    operatorEveryMs: chosen(0.4) ? oneOf(random, [1_000, 5_000]) : undefined,
    congested: chosen(0.4) ? random.next() * 0.1 : 0,
  };
}

type Chosen = (probability: number) => boolean;

function drawStreamFaults(random: Random, chosen: Chosen): StreamFaults {
  const upTo = (most: number, probability = 0.4) => (chosen(probability) ? random.next() * most : 0);
  return {
    duplicate: upTo(0.4),
    delay: upTo(0.4),
    silentLoss: upTo(0.3),
    cut: upTo(0.05),
    halfOpen: upTo(0.02),
    garbage: upTo(0.15),
    foreign: upTo(0.1),
    ackLate: upTo(0.5),
    ackNever: upTo(0.2),
    upgradeRefused: upTo(0.4),
    upgradeHangs: upTo(0.1),
  };
}

/** The plan of a seed as somebody wishes to have it. */
export function asWished(plan: FaultPlan, wishes: CommandWishes): FaultPlan {
  if (wishes.moving === true) return moving(plan);
  if (wishes.hiding === true || wishes.stranding === true) return hiding(plan);
  return wishes.leaking === true ? leaking(plan) : plan;
}

/** The same run with a fleet whose shards change hands all the time. */
function moving(plan: FaultPlan): FaultPlan {
  return {
    ...plan,
    instances: Math.max(3, plan.instances),
    shards: 4,
    faultyMs: 30_000,
    changeEveryMs: 100,
    incidentEveryMs: 2_000,
    incidents: ['crash', 'freeze', 'stop', 'burst', 'broker_down', ...plan.incidents],
    broker: { ...plan.broker, slowMs: 800 },
    enemy: { ...plan.enemy, perverse: 0.5 },
    operatorEveryMs: 2_000,
    platform: { ...plan.platform, accounts: 5 },
  };
}

/** The same run with a fleet on which nothing is wrong, and many changes. */
function hiding(plan: FaultPlan): FaultPlan {
  return {
    ...plan,
    instances: Math.max(3, plan.instances),
    shards: 4,
    faultyMs: 30_000,
    changeEveryMs: 60,
    incidents: [],
    database: noDatabaseFaults,
    broker: noBrokerFaults,
    enemy: noEnemy,
    operatorEveryMs: undefined,
    platform: { ...plan.platform, accounts: 5, openOrders: 15 },
  };
}

/**
 * The same run with accounts that can always be traded: what is wrong is what keeps a process, or
 * the answer to it, from a halt.
 */
function leaking(plan: FaultPlan): FaultPlan {
  return {
    ...plan,
    instances: plan.instances > 2 ? 3 : 2,
    shards: 16,
    faultyMs: 20_000,
    changeEveryMs: 500,
    incidentEveryMs: 5_000,
    incidents: plan.incidents.filter((each) => each === 'crash' || each === 'freeze' || each === 'stop'),
    pageSize: 500,
    stream: noStreamFaults,
    reads: noReadFaults,
    broker: noBrokerFaults,
    enemy: noEnemy,
    operatorEveryMs: undefined,
    congested: 0,
    platform: { ...plan.platform, accounts: 5, openOrders: 2, knownOrders: 0 },
  };
}

function drawEnemy(random: Random, chosen: Chosen): EnemyPlan {
  return {
    lateMs: chosen(0.5) ? random.next() * 5_000 : 0,
    perverse: chosen(0.7) ? random.next() : 0,
    greedy: chosen(0.3) ? random.next() : 0,
  };
}

function drawReadFaults(random: Random, chosen: Chosen): ReadFaults {
  const upTo = (most: number, probability = 0.5) => (chosen(probability) ? random.next() * most : 0);
  return {
    refused: upTo(0.3),
    broken: upTo(0.3),
    foreignBody: upTo(0.1),
    slow: upTo(0.2, 0.3),
    lagMs: upTo(8_000),
  };
}

function drawDatabaseFaults(random: Random, chosen: Chosen): DatabaseFaults {
  const upTo = (most: number) => (chosen(0.5) ? random.next() * most : 0);
  return {
    retry: upTo(0.15),
    lostBefore: upTo(0.1),
    orphan: upTo(0.15),
    lostAnswer: upTo(0.1),
    unreachable: upTo(0.15),
  };
}

function drawBrokerFaults(random: Random, chosen: Chosen): BrokerFaults {
  const upTo = (most: number) => (chosen(0.5) ? random.next() * most : 0);
  return {
    refused: upTo(0.2),
    lostAnswer: upTo(0.15),
    torn: upTo(0.15),
    late: upTo(0.05),
    slowMs: oneOf(random, [4, 4, 50, 800]),
  };
}
