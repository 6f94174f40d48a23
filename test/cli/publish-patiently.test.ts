import { describe, expect, it } from 'vitest';
import { publishPatiently } from '../../src/cli/replay/run-replay.ts';
import { Backoff } from '../../src/runtime/backoff.ts';
import { PublishError } from '../../src/service/log/publisher.ts';
import { VirtualClock } from '../support/runs/virtual-clock.ts';

const rows = [{ topic: 'updates', key: 'account:o-1', payload: '{}' }] as const;
const away = () => new PublishError('connection', 'Closed connection');

/**
 * A publisher that fails as told, and then works; `undefined` at the end of `failures`: it fails
 * for ever with the one before.
 */
function patient(failures: readonly (PublishError | undefined)[]) {
  const clock = new VirtualClock();
  const interrupted = new AbortController();
  const warned: string[] = [];
  let tries = 0;
  const publish = async () => {
    const forEver = failures.at(-1) === undefined && failures.length > 0;
    const failure = failures[tries] ?? (forEver ? failures[0] : undefined);
    tries += 1;
    if (failure !== undefined) throw failure;
  };
  const publisher = { publish, close: () => Promise.resolve() };
  const backoff = new Backoff({ next: () => 0.5 } as never, { firstMs: 200, maxMs: 5_000 });
  const onTrouble = (error: PublishError) => warned.push(error.code);
  const done = publishPatiently({ publisher, clock, backoff, signal: interrupted.signal, onTrouble }, rows);
  return { clock, interrupted, warned, done, tries: () => tries };
}

describe('a replay', () => {
  it('tries again while Kafka is away for a moment, and says so once', async () => {
    const it = patient([away(), away(), away()]);
    await it.clock.advance(10_000);
    await it.done;
    expect([it.tries(), it.warned]).toEqual([4, ['connection']]);
  });

  it.each(['too_large', 'unauthorized', 'unknown_topic', 'wrong_partitions'])(
    'ends at once where no other try helps: %s',
    async (code) => {
      const it = patient([new PublishError(code, code)]);
      await expect(it.done).rejects.toMatchObject({ code });
      expect(it.tries()).toBe(1);
    },
  );

  it('ends with the error when it has lasted for two minutes, after tries that come ever more slowly', async () => {
    const it = patient([away(), undefined]);
    const ended = expect(it.done).rejects.toMatchObject({ code: 'connection' });
    await it.clock.advance(130_000);
    await ended;
    expect(it.tries()).toBeGreaterThan(40);
    expect(it.tries()).toBeLessThan(60);
  });

  it('ends when it is interrupted between two tries', async () => {
    const it = patient([away(), undefined]);
    const ended = expect(it.done).rejects.toMatchObject({ code: 'connection' });
    await it.clock.advance(1_000);
    it.interrupted.abort();
    await ended;
  });
});
