import { conditions, type DoubtName, doubtNames } from '../../../contract/conditions.ts';
import { type StatusDocument, statusAnswer } from '../../../contract/status-answer.ts';
import type { Call, RouteParts } from '../route.ts';
import { askOthers } from './over-instances.ts';

// The state of the whole fleet, from each instance's own answer.

interface OfInstance {
  readonly instance: string;
  readonly status: StatusDocument;
}

/**
 * `own`, joined with the other instances' answers. A forwarded request gets `own`, and so does a
 * single process.
 */
export async function statusOfAll(
  parts: Pick<RouteParts, 'forwarding' | 'clock'>,
  call: Call,
  own: StatusDocument,
): Promise<StatusDocument> {
  const answers = await askOthers(parts, call, statusAnswer, parts.forwarding.others.all());
  if (answers.length === 0) return own;
  const all: OfInstance[] = [{ instance: own.lane.instance, status: own }];
  const unanswered: { instance: string; code: string }[] = [];
  for (const { instance, answer } of answers)
    if ('body' in answer) all.push({ instance, status: answer.body });
    else unanswered.push({ instance, code: answer.code });
  return mergeStatus(own, all, unanswered);
}

function mergeStatus(
  own: StatusDocument,
  all: readonly OfInstance[],
  unanswered: NonNullable<StatusDocument['unanswered']>,
): StatusDocument {
  const each = <T>(read: (status: StatusDocument) => T): T[] => all.map(({ status }) => read(status));
  const sum = (read: (status: StatusDocument) => number) => each(read).reduce((total, value) => total + value, 0);
  const oldest = (read: (status: StatusDocument) => string | null) => earliest(each(read));
  const worst = (read: (status: StatusDocument) => number | null) => {
    const known = each(read).filter((value) => value !== null);
    return known.length === 0 ? null : Math.max(...known);
  };
  const unresolved = each(({ commands }) => commands.unresolved).filter((count) => count !== null);
  const doubts = [...doubtsOfAll(all), ...doubtOfSilence(unanswered)];
  return {
    ...own,
    trust: { trusted: doubts.length === 0, doubts },
    latency: { p50Ms: worst(({ latency }) => latency.p50Ms), p99Ms: worst(({ latency }) => latency.p99Ms) },
    updatesPerSecond: Math.round(sum(({ updatesPerSecond }) => updatesPerSecond) * 10) / 10,
    silentLossesLastHour: sum(({ silentLossesLastHour }) => silentLossesLastHour),
    lag: {
      ingestQueued: sum(({ lag }) => lag.ingestQueued),
      pendingOldest: oldest(({ lag }) => lag.pendingOldest),
      relayRows: sum(({ lag }) => lag.relayRows),
      relayOldest: oldest(({ lag }) => lag.relayOldest),
      stateRows: sum(({ lag }) => lag.stateRows),
      resultRows: sum(({ lag }) => lag.resultRows),
    },
    ingest: { queued: sum(({ ingest }) => ingest.queued), paused: each(({ ingest }) => ingest.paused).some(Boolean) },
    commands: {
      ...own.commands,
      unresolved: unresolved.length === 0 ? null : unresolved.reduce((total, count) => total + count, 0),
      oldestUnresolved: oldest(({ commands }) => commands.oldestUnresolved),
    },
    accounts: each(({ accounts }) => accounts).flat(),
    absentOrders: each(({ absentOrders }) => absentOrders).flat(),
    instances: all.map(({ instance, status: { updatesPerSecond, lag, commands, trust } }) => ({
      ...{ instance, trusted: trust.trusted, updatesPerSecond },
      ...{ ingestQueued: lag.ingestQueued, relayRows: lag.relayRows, unresolved: commands.unresolved },
    })),
    ...(unanswered.length > 0 && { unanswered: [...unanswered] }),
  };
}

/** ISO 8601 in UTC sorts as text. */
function earliest(instants: readonly (string | null)[]): string | null {
  return instants.filter((at) => at !== null).sort()[0] ?? null;
}

type Doubt = StatusDocument['trust']['doubts'][number];

/** The sentence of a doubt names no more instances than this. */
const mostNamed = 3;

/** One doubt for each name, the gravest first. Several instances' words are put together. */
function doubtsOfAll(all: readonly OfInstance[]): Doubt[] {
  const doubts = all.flatMap(({ instance, status }) => status.trust.doubts.map((doubt) => ({ instance, doubt })));
  const rankOf = (name: DoubtName) => doubtNames.indexOf(name);
  return [...Map.groupBy(doubts, ({ doubt }) => doubt.name).values()]
    .map((alike) => ({ ...detailOf(alike), since: earliest(alike.map(({ doubt }) => doubt.since)) }))
    .sort((a, b) => rankOf(a.name) - rankOf(b.name));
}

function detailOf(alike: readonly { readonly instance: string; readonly doubt: Doubt }[]): Doubt {
  const [{ doubt } = never()] = alike;
  if (conditions[doubt.name].ofDatabase) return doubt;
  const named = alike.slice(0, mostNamed).map(({ instance, doubt: { detail } }) => `${instance}: ${detail}`);
  const rest = alike.length - named.length;
  return { ...doubt, detail: [...named, ...(rest > 0 ? [`and ${rest} more instances`] : [])].join('; ') };
}

function never(): never {
  throw new Error('a group has a first member');
}

function doubtOfSilence(unanswered: readonly { readonly instance: string; readonly code: string }[]): Doubt[] {
  if (unanswered.length === 0) return [];
  const named = unanswered.slice(0, mostNamed).map(({ instance, code }) => `${instance} (${code})`);
  const rest = unanswered.length - named.length;
  const detail = `no answer from ${named.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}: their accounts, commands and lag are not known here`;
  const name = 'instances_unanswered';
  const { runbook, link } = conditions[name];
  return [{ name, detail, since: null, runbook, link }];
}
