import { describe, expect, it } from 'vitest';
import { Polled } from '../../src/console/state/polled.ts';
import { ConsoleRig } from '../support/rest/console-rig.ts';

function followed(everyMs: (value: { waits: boolean } | undefined) => number) {
  const rig = new ConsoleRig();
  const answerWith = (status: number, body: unknown) => rig.answers.set('/v1/x', { status, body });
  answerWith(200, { waits: true });
  const polled = new Polled<{ waits: boolean }>(rig.state.ports, {
    read: (signal) => rig.state.rest.get('/v1/x', {}, signal),
    everyMs,
  });
  const abort = new AbortController();
  void polled.follow(abort.signal);
  return { rig, polled, abort, answerWith, reads: () => rig.asked.filter(({ path }) => path === '/v1/x').length };
}

describe('something that is read again and again', () => {
  it('comes as often as its value asks for, and at once after an action', async () => {
    const { rig, polled, answerWith, reads } = followed((value) => (value?.waits === true ? 1_000 : 10_000));
    await rig.settle();
    expect(polled.state.value).toEqual({ value: { waits: true }, fault: undefined });
    answerWith(200, { waits: false });
    await rig.pass(1_000);
    await rig.pass(9_000);
    expect(reads()).toBe(2);
    polled.again();
    await rig.settle();
    expect(reads()).toBe(3);
  });

  it('comes again sooner after a read that brought nothing', async () => {
    const { rig, answerWith, reads } = followed(() => 10_000);
    await rig.settle();
    answerWith(503, {});
    await rig.pass(10_000);
    await rig.pass(1_999);
    expect(reads()).toBe(2);
    await rig.pass(1);
    expect(reads()).toBe(3);
  });

  it('keeps its last value and says why it is old, until it is read again', async () => {
    const { rig, polled, answerWith } = followed(() => 1_000);
    await rig.settle();
    answerWith(503, { code: 'STORE_UNAVAILABLE', detail: 'the database does not answer' });
    await rig.pass(1_000);
    expect(polled.state.value).toEqual({
      value: { waits: true },
      fault: 'The service answers 503 STORE_UNAVAILABLE: the database does not answer.',
    });
    answerWith(200, { waits: false });
    await rig.pass(1_000);
    expect(polled.state.value).toEqual({ value: { waits: false }, fault: undefined });
  });

  it('reads one time more after an action that comes while it is read', async () => {
    const { rig, polled, reads } = followed(() => 10_000);
    polled.again();
    await rig.settle();
    expect(reads()).toBe(2);
  });

  it('ends with the screen that shows it', async () => {
    const { rig, abort, reads } = followed(() => 1_000);
    await rig.settle();
    abort.abort();
    await rig.pass(5_000);
    expect(reads()).toBe(1);
  });
});
