import type { TopicPlan } from './plan-topics.ts';

/** The faults of the topics, one sentence each, for readiness and `doctor`. Empty: as planned. */
export function topicFaults(plan: TopicPlan): string[] {
  return [
    ...plan.creations.map(({ spec }) => `${spec.name} is missing: run \`tidemark topics apply\``),
    ...plan.alterations.flatMap(({ topic, changes }) =>
      changes.map(
        ({ setting, found, wanted }) =>
          `${topic} has ${setting}=${found || '(unset)'}, planned is ${wanted}: run \`tidemark topics apply\``,
      ),
    ),
    ...plan.faults,
  ];
}
