import type { Admin } from 'kafkajs';
import type { KafkaOptions } from '../../kafka/kafka-options.ts';
import type { AdminDeps } from '../../kafka/with-admin.ts';
import { withBrokerAt } from '../../kafka/with-broker-at.ts';
import { plural } from '../plural.ts';
import { sentenceOf } from '../report-error.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

export interface BrokerFindings {
  readonly findings: readonly Finding[];
  /** An address that answers, for the checks that come after; undefined: none does. */
  readonly answering?: string;
}

/** A broker, and the address (`host:port`) that the cluster tells clients to find it at. */
interface AdvertisedBroker {
  readonly nodeId: number;
  readonly address: string;
}

/**
 * Whether each broker can be reached: those that KAFKA_BROKERS names, and those that the cluster tells clients to go to, which is where records are written. The two are
 * often not the same, and an address that only holds inside the cluster's own network is the usual fault.
 */
export async function checkBrokers(deps: AdminDeps, kafka: KafkaOptions): Promise<BrokerFindings> {
  const named = await askAll(deps, kafka, kafka.brokers);
  const answering = named.filter((asked) => asked.ok);
  const [first] = answering;
  const told = new Map(answering.flatMap(({ brokers }) => brokers.map((broker) => [broker.address, broker])));
  // One that the cluster still sends clients to is told as such, below.
  const silent = named.flatMap((asked) =>
    asked.ok || told.has(asked.address) ? [] : [namedFinding(asked, first !== undefined)],
  );
  if (first === undefined) return { findings: silent };

  const known = new Map(named.map((asked) => [asked.address, asked]));
  const others = await askAll(
    deps,
    kafka,
    [...told.keys()].filter((address) => !known.has(address)),
  );
  for (const asked of others) known.set(asked.address, asked);
  const unreached = [...told.values()].filter(({ address }) => known.get(address)?.ok !== true);
  const faults = unreached.map((broker) => advertisedFinding(first.address, broker, reasonOf(known.get(broker.address))));
  const cluster = clusterFinding(told.size, told.size - unreached.length);
  return { findings: [...silent, ...faults, cluster], answering: first.address };
}

type Asked =
  | { readonly ok: true; readonly address: string; readonly brokers: readonly AdvertisedBroker[] }
  | { readonly ok: false; readonly address: string; readonly reason: string };

/** Connections made at once: a cluster may have hundreds of brokers. */
const atOnce = 16;

async function askAll(deps: AdminDeps, kafka: KafkaOptions, addresses: readonly string[]): Promise<Asked[]> {
  const asked: Asked[] = [];
  for (let from = 0; from < addresses.length; from += atOnce) {
    const some = addresses.slice(from, from + atOnce).map((address) => ask(deps, kafka, address));
    asked.push(...(await Promise.all(some)));
  }
  return asked;
}

async function ask(deps: AdminDeps, kafka: KafkaOptions, address: string): Promise<Asked> {
  try {
    return { ok: true, address, brokers: await withBrokerAt(deps, kafka, address, readBrokers) };
  } catch (error) {
    return { ok: false, address, reason: sentenceOf(error) };
  }
}

async function readBrokers(admin: Admin): Promise<AdvertisedBroker[]> {
  const { brokers } = await admin.describeCluster();
  return brokers.map(({ nodeId, host, port }) => ({ nodeId, address: `${host.includes(':') ? `[${host}]` : host}:${port}` }));
}

function reasonOf(asked: Asked | undefined): string {
  return asked?.ok === false ? asked.reason : 'it was not asked';
}

/** One of several may be down: the service then starts from another. */
function namedFinding({ address, reason }: Extract<Asked, { ok: false }>, anotherAnswers: boolean): Finding {
  const detail = `${address} of KAFKA_BROKERS does not answer: ${reason}`;
  return anotherAnswers
    ? warn('broker', detail, 'Start it, or take it out of KAFKA_BROKERS; the service starts from another one.')
    : fail('broker', detail, 'Check KAFKA_BROKERS and KAFKA_SSL, KAFKA_SASL_*, and that the brokers run.');
}

function advertisedFinding(at: string, { nodeId, address }: AdvertisedBroker, reason: string): Finding {
  return fail(
    'broker',
    `${at} answers, and sends clients to ${address} for broker ${nodeId}, which does not answer: ${reason}`,
    `Start broker ${nodeId}; if it runs, set its advertised.listeners to an address that this machine reaches.`,
  );
}

function clusterFinding(count: number, reached: number): Finding {
  if (reached < count) return warn('kafka', `${reached} of ${plural(count, 'broker')} can be reached`, 'Mend the brokers above.');
  if (count >= 3) return ok('kafka', `${count} brokers answer`);
  const words = count === 1 ? 'one broker answers' : `${count} brokers answer`;
  return warn('kafka', `${words}: a topic has as many copies`, 'Use three or more brokers, unless this is a test.');
}
