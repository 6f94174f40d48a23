import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { acceptTopic } from '../../../src/cli/accept-topic.ts';
import { createMetrics } from '../../../src/observability/metrics.ts';
import type { FoundTopic } from '../../../src/service/log/judge-topic-ends.ts';
import { ReplacedTopics } from '../../../src/service/run/replaced-topics.ts';
import { PublishedTopics } from '../../../src/store/published-topics.ts';
import { eventually } from '../../support/runs/poll.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';
import { freshDatabase } from '../../support/servers/database.ts';

const topic = (...ends: string[]): FoundTopic => ({ kind: 'updates', name: 't.updates', ends });

it('every process keeps the doubt about a topic that ends lower, however far it grows, until a person accepts it', async () => {
  await using database = await freshDatabase();
  await using stack = new AsyncDisposableStack();
  const pool = new pg.Pool({ connectionString: database.url });
  stack.defer(() => pool.end());
  const published = new PublishedTopics(pool);
  const world = { found: [topic('5', '900')], away: false };
  const serve = async () => {
    const clock = new VirtualClock();
    let looks = 0;
    const findTopics = async () => {
      if (!world.away) return world.found;
      looks += 1;
      throw new Error('no answer');
    };
    const keep: typeof published.keep = async (...judged) => {
      await published.keep(...judged);
      looks += 1;
    };
    const { process } = createMetrics();
    const kept = { read: () => published.read(), keep };
    const watch = new ReplacedTopics({ clock, log: silentLog, metrics: process, findTopics, published: kept });
    await watch.rounds.start();
    stack.defer(async () => {
      const drained = watch.rounds.drain();
      await clock.advance(1);
      await drained;
    });
    /** The doubts once the next look is over. No time passes while one is under way. */
    const look = async (doubts: readonly unknown[]) => {
      await eventually(() => expect(looks).toBeGreaterThan(0));
      await clock.advance(0);
      const before = looks;
      await clock.advance(30_000);
      await eventually(() => expect(looks).toBe(before + 1));
      await clock.advance(0);
      expect(watch.doubts.details).toEqual(doubts);
      return watch.doubts.sinceMs;
    };
    return { look };
  };
  const one = await serve();
  await one.look([]);
  world.found = [topic('6', '1000')];
  await one.look([]);
  expect(await published.read()).toMatchObject([{ ends: ['6', '1000'], lost: null }]);

  world.found = [topic('7', '3')];
  const lost = [expect.stringMatching(/t\.updates was deleted .* partition 1 ended at 3 after it had ended at 1000$/)];
  const sinceMs = await one.look(lost);
  world.found = [topic('7000', '3000')];
  expect(await one.look(lost), 'it grew past the end of before').toBe(sinceMs);
  world.away = true;
  expect(await one.look(lost), 'Kafka is away').toBe(sinceMs);
  world.away = false;
  const two = await serve();
  await two.look(lost);

  expect(await acceptTopic(pool, [{ kind: 'updates', name: 't.updates', ends: undefined }], 'updates')).toBe(false);
  expect(await acceptTopic(pool, world.found, 'updates')).toBe(true);
  expect(await acceptTopic(pool, world.found, 'updates'), 'nothing to do').toBe(false);
  for (const process of [one, two]) expect(await process.look([])).toBeUndefined();
});

async function publishedTopics(stack: AsyncDisposableStack): Promise<PublishedTopics> {
  const database = stack.use(await freshDatabase());
  const pool = new pg.Pool({ connectionString: database.url });
  stack.defer(() => pool.end());
  return new PublishedTopics(pool);
}

const row = (ends: readonly string[], lost: string | null = null) => ({
  ...{ kind: 'updates', name: 't.updates', ends, lost },
});

describe('issue: A topic that was made again counted as whole, after a slow process had looked at it.', () => {
  it('the ends of a late look take back no higher ones', async () => {
    await using stack = new AsyncDisposableStack();
    const published = await publishedTopics(stack);
    const none = await published.read();
    await published.keep([row(['9', '200'])], none);
    const before = await published.read();
    await published.keep([row(['10', '300'])], before);
    await published.keep([row(['9', '250'])], before);
    await published.keep([row(['1', '1'])], none);
    expect(await published.read()).toMatchObject([{ ends: ['10', '300'] }]);
  });
});

describe('issue: A topic that a person had just accepted was called lost again.', () => {
  it('a look that began before takes back no acceptance', async () => {
    await using stack = new AsyncDisposableStack();
    const published = await publishedTopics(stack);
    await published.keep([row(['10', '300'])], []);
    const before = await published.read();
    await published.accept([row(['0', '2'])]);
    await published.keep([row(['0', '2'], 'it ended at 0 after it had ended at 10')], before);
    await published.keep([row(['10', '300'])], before);
    expect(await published.read()).toMatchObject([{ ends: ['0', '2'], lost: null }]);
  });
});
