import { expect, it } from 'vitest';
import { HealthRegistry } from '../../../src/observability/health.ts';
import type { TopicsState } from '../../../src/service/log/plan-topics.ts';
import { TopicsCheck } from '../../../src/service/run/topics-check.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

function rig() {
  const clock = new VirtualClock();
  const state = { asked: 0, kafka: undefined as TopicsState | undefined };
  const health = new HealthRegistry({ clock }, { checkDeadlineMs: 3_000, maxAgeMs: 0 });
  const ask = async (): Promise<TopicsState> => {
    state.asked += 1;
    return state.kafka ?? new Promise<never>(() => {});
  };
  const check = new TopicsCheck({ clock, ask });
  check.addTo(health);
  const report = async () => {
    const made = health.report();
    await clock.advance(2_600);
    const { status, checks } = await made;
    return [status, ...checks.map(({ name, detail }) => `${name}: ${detail}`)];
  };
  return { clock, state, report, check };
}

const planned = { kind: 'planned', unready: [], doubts: [], notes: [] } as const;
const silent: TopicsState = { kind: 'silent', why: 'connection refused' };

it('Kafka away makes a process degraded, and unready only before it has answered for the first time', async () => {
  const { state, report } = rig();
  expect(await report(), 'it hangs').toEqual([
    'unready',
    'topics: Kafka has not answered since the start',
    'kafka: Kafka does not answer, and updates wait in the log: its answer took longer than 2500 ms',
  ]);
  await report();
  expect(state.asked, 'a question that hangs is not asked again').toBe(1);
  const again = rig();
  again.state.kafka = silent;
  expect((await again.report())[0], 'it refuses').toBe('unready');
  again.state.kafka = planned;
  expect(await again.report()).toEqual(['ready', 'topics: every topic is as planned', 'kafka: Kafka answers']);
  again.state.kafka = silent;
  await again.clock.advance(15_000);
  expect(await again.report()).toEqual([
    'degraded',
    'topics: every topic was as planned when Kafka last answered',
    'kafka: Kafka does not answer, and updates wait in the log: connection refused',
  ]);
  again.state.kafka = undefined;
  expect((await again.report())[0], 'it hangs later').toBe('degraded');
});

it('a topic that is missing, or is another than planned, makes it unready, also while Kafka is away again', async () => {
  const { state, report, clock } = rig();
  state.kafka = {
    ...planned,
    kind: 'faulty',
    unready: ['the topic of updates is missing', 'that of results has 2 partitions'],
  };
  const faults = 'topics: the topic of updates is missing; that of results has 2 partitions';
  expect((await report()).slice(0, 2)).toEqual(['unready', faults]);
  state.kafka = silent;
  expect((await report()).slice(0, 2)).toEqual(['unready', faults]);
  state.kafka = planned;
  expect((await report())[0], 'a topic that was put right shows at once').toBe('ready');
  await clock.advance(1_000);
  const { asked } = state;
  await report();
  expect(state.asked, 'a good answer is good for a while').toBe(asked);
});

it('a setting with which everything flows is a doubt or a note, and never makes it unready', async () => {
  const { state, report, check, clock } = rig();
  state.kafka = { ...planned, notes: ['updates stay longer'] };
  const note = 'topics: every topic is there, and differs from the plan: updates stay longer';
  expect((await report()).slice(0, 2)).toEqual(['ready', note]);
  expect(check.doubts.details).toEqual([]);
  await check.rounds.start();
  state.kafka = { ...planned, doubts: ['updates go by size'] };
  await clock.advance(120_000);
  expect(check.doubts, 'also where nobody asks for readiness').toMatchObject({ details: ['updates go by size'] });
  expect((await report())[0]).toBe('ready');
  state.kafka = silent;
  await clock.advance(120_000);
  expect(check.doubts.details, 'what Kafka said last').toEqual(['updates go by size']);
  state.kafka = planned;
  await clock.advance(120_000);
  expect(check.doubts).toEqual({ details: [], sinceMs: undefined });
  const drained = check.rounds.drain();
  await clock.advance(1);
  await drained;
});
