import { fitnessRules } from '../../domain/judge-fitness.ts';
import type { MemberReport } from '../../domain/member-report.ts';
import type { EventLoopWatch } from '../../observability/event-loop-watch.ts';
import type { HeldShards } from '../fleet/held-shards.ts';
import type { LossCheck } from '../fleet/loss-check.ts';
import { OwnFitness } from '../fleet/own-fitness.ts';
import type { TopicsState } from '../log/plan-topics.ts';
import { followOptions } from './credential-parts.ts';
import type { CredentialSources } from './credential-sources.ts';
import { FollowCheck, followCheckDefaults } from './follow-check.ts';
import type { PlatformConfig } from './platform-parts.ts';
import type { SharedParts } from './shared-parts.ts';
import type { StoreParts } from './store-parts.ts';

interface FollowPartsDeps extends SharedParts {
  readonly sources: CredentialSources;
  readonly store: Pick<StoreParts, 'accounts'>;
  readonly held: HeldShards;
  readonly eventLoop: EventLoopWatch;
  readonly lossCheck: LossCheck;
  readonly checkTopics: () => Promise<TopicsState>;
}

/** How well this process follows its accounts, and its report to the others. */
export function followParts(deps: FollowPartsDeps, config: PlatformConfig) {
  const { sources, store, held, eventLoop: loop, lossCheck, checkTopics, ...shared } = deps;
  const followCheck = new FollowCheck(
    {
      ...{ ...shared, sources, registry: store.accounts, metrics: shared.metrics.source },
      isOurs: (accountId) => held.follows(accountId),
    },
    { ...followCheckDefaults, ...followOptions(config) },
  );
  const asksKafka = async () => {
    const state = await checkTopics();
    // A topic that may refuse records is no proof that Kafka takes them.
    return state.kind === 'planned' && (state.doubts ?? []).length === 0;
  };
  const fitness = new OwnFitness({ ...shared, sources, loop, lossCheck, asksKafka }, fitnessRules);
  return {
    followCheck,
    fitness,
    /** The sources and the check, for the shards: both look again when these have changed. */
    reviewed: {
      review: () => {
        sources.review();
        followCheck.review();
      },
    },
    report: (): MemberReport => ({
      follows: sources.connections().some(({ accounts }) => accounts > 0),
      unfollowed: followCheck.unfollowed.length,
      unusableLogins: sources.credentials().filter(({ state }) => state === 'login_required').length,
      works: fitness.works,
    }),
  };
}
