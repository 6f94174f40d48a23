import { beforeEach, describe, expect, it } from 'vitest';
import type { Phase, Service } from '../../src/runtime/supervisor.ts';
import { Supervisor } from '../../src/runtime/supervisor.ts';
import { VirtualClock } from '../support/runs/virtual-clock.ts';

let clock: VirtualClock;
let events: string[];
let logged: { level: string; fields: Record<string, unknown>; message: string }[];

beforeEach(() => {
  clock = new VirtualClock();
  events = [];
  logged = [];
});

const write = (level: string) => (fields: object, message: string) =>
  void logged.push({ level, fields: { ...fields }, message });
const log = { info: write('info'), warn: write('warn'), error: write('error') };

interface Behaviour {
  readonly start?: () => Promise<void>;
  readonly drain?: (signal: AbortSignal) => Promise<void>;
}

function part(name: string, behaviour: Behaviour = {}): Service {
  return {
    name,
    start: async () => {
      events.push(`start ${name}`);
      await behaviour.start?.();
    },
    drain: async (signal) => {
      events.push(`drain ${name}`);
      await behaviour.drain?.(signal);
    },
  };
}

function supervise(starts: Service[], ends: Service[] = starts) {
  const supervisor = new Supervisor(
    { clock, log },
    { phases: [{ name: 'all', starts, ends }], drainDeadlineMs: 25_000 },
  );
  const ended: { code?: number } = {};
  void supervisor.run().then((code) => {
    ended.code = code;
  });
  return { supervisor, ended };
}

const never = () => new Promise<void>(() => {});

describe('the supervisor', () => {
  it('starts the parts in their order and drains them in the order of the plan', async () => {
    const [store, ingest, source] = [part('store'), part('ingest'), part('source')];
    const { supervisor, ended } = supervise([store, ingest, source], [source, ingest, store]);
    await clock.settle();
    expect(supervisor.state).toBe('running');
    supervisor.stop('SIGTERM');
    expect(supervisor.state).toBe('draining');
    await clock.settle();
    expect(events).toEqual([
      'start store',
      'start ingest',
      'start source',
      'drain source',
      'drain ingest',
      'drain store',
    ]);
    expect(supervisor.state).toBe('stopped');
    expect(ended.code).toBe(0);
  });

  it('tells each step of the drain with its milliseconds', async () => {
    const { supervisor } = supervise([part('slow', { drain: () => clock.sleep(1200) }), part('quick')]);
    await clock.settle();
    supervisor.stop('SIGTERM');
    await clock.advance(1200);
    const steps = logged.filter(({ message }) => message === 'drain step').map(({ fields }) => fields);
    expect(steps).toEqual([
      { part: 'slow', ms: 1200, result: 'drained' },
      { part: 'quick', ms: 0, result: 'drained' },
    ]);
  });

  it('drains what was started, the failed part too, when a start fails, and ends with 1', async () => {
    const failing = part('kafka', { start: () => Promise.reject(new Error('no')) });
    const { ended } = supervise([part('store'), failing, part('source')]);
    await clock.settle();
    expect(events).toEqual(['start store', 'start kafka', 'drain store', 'drain kafka']);
    expect(ended.code).toBe(1);
  });

  it('lets go at once of what a failed start leaves, without a step, and says at last why', async () => {
    const aborted: boolean[] = [];
    const drain = async (signal: AbortSignal) => void aborted.push(signal.aborted);
    const start = () => Promise.reject(new Error('port 8080 is in use'));
    const { ended } = supervise([part('store', { drain }), part('rest', { start, drain })]);
    await clock.settle();
    expect([aborted, ended.code]).toEqual([[true, true], 1]);
    expect(logged.map(({ message }) => message)).toEqual([
      'part started',
      'a part cannot go on',
      'ended: port 8080 is in use',
    ]);
    expect(logged.at(-1)).toMatchObject({ level: 'error', fields: { part: 'rest' } });
  });

  it('says at last why a part that ran could not go on, after a whole drain', async () => {
    const { supervisor } = supervise([part('relay')]);
    await clock.settle();
    supervisor.fatal('relay', new Error('broken'), 3);
    supervisor.fatal('relay', new Error('again'), 4);
    await clock.settle();
    expect(logged.map(({ message }) => message).slice(-3)).toEqual(['drain step', 'drained', 'ended: broken']);
  });

  it('ends with the exit code that a failed start asks for', async () => {
    const error = Object.assign(new Error('schema newer than the build'), { exitCode: 78 });
    const { ended } = supervise([part('store', { start: () => Promise.reject(error) })]);
    await clock.settle();
    expect(ended.code).toBe(78);
  });

  it('takes a start that throws before it awaits for a failed start', async () => {
    const broken: Service = {
      name: 'broken',
      start: () => {
        throw new Error('no');
      },
      drain: async () => {},
    };
    const { ended } = supervise([broken]);
    await clock.settle();
    expect(ended.code).toBe(1);
  });

  it('drains for a fatal report and ends with its code, whatever else is asked afterwards', async () => {
    const { supervisor, ended } = supervise([part('relay')]);
    await clock.settle();
    supervisor.fatal('relay', new Error('broken'), 3);
    supervisor.stop('SIGTERM');
    supervisor.fatal('relay', new Error('again'), 4);
    await clock.settle();
    expect(events).toEqual(['start relay', 'drain relay']);
    expect(ended.code).toBe(3);
  });

  it('starts nothing more once the stop was asked for, and does not wait for a start that hangs', async () => {
    const { supervisor, ended } = supervise([part('store', { start: never }), part('source')]);
    await clock.settle();
    supervisor.stop('SIGINT');
    await clock.settle();
    expect(events).toEqual(['start store', 'drain store']);
    expect(ended.code).toBe(0);
  });

  it('gives every part the signal to give up before the deadline, and ends within it although nobody listens', async () => {
    const parts = ['a', 'b', 'c'].map((name) => part(name, { drain: never }));
    const { supervisor, ended } = supervise(parts);
    await clock.settle();
    supervisor.stop('SIGTERM');
    await clock.advance(22_499);
    expect(events).toHaveLength(4);
    await clock.advance(2501);
    expect(events.slice(3)).toEqual(['drain a', 'drain b', 'drain c']);
    expect(ended.code).toBe(1);
  });

  it('lets a part that hears the signal finish, and still drains those behind it', async () => {
    const patient = part('patient', {
      drain: async (signal) => {
        await clock.sleep(60_000, signal);
        events.push('gave up');
      },
    });
    const { supervisor, ended } = supervise([patient, part('pool')]);
    await clock.settle();
    supervisor.stop('SIGTERM');
    await clock.advance(22_500);
    expect(events.slice(2)).toEqual(['drain patient', 'gave up', 'drain pool']);
    expect(ended.code).toBe(1);
  });

  it('goes on draining behind a part whose drain fails', async () => {
    const { supervisor, ended } = supervise([
      part('bad', { drain: () => Promise.reject(new Error('no')) }),
      part('good'),
    ]);
    await clock.settle();
    supervisor.stop('SIGTERM');
    await clock.settle();
    expect(events.slice(2)).toEqual(['drain bad', 'drain good']);
    expect(ended.code).toBe(1);
  });

  it('leaves no timer behind', async () => {
    const { supervisor } = supervise([part('a'), part('b')]);
    await clock.settle();
    supervisor.stop('SIGTERM');
    await clock.settle();
    expect(clock.armed).toBe(0);
  });

  it('ends the phases from the last to the first, and each as it says, or in reverse', async () => {
    const [store, pool, ingest, source, rest] = [
      part('store'),
      part('pool'),
      part('ingest'),
      part('source'),
      part('rest'),
    ];
    const phases: Phase[] = [
      { name: 'database', starts: [store, pool] },
      { name: 'reads', starts: [], ends: [rest] },
      { name: 'data', starts: [ingest, source, rest], ends: [ingest, source] },
    ];
    const supervisor = new Supervisor({ clock, log }, { phases, drainDeadlineMs: 25_000 });
    void supervisor.run();
    await clock.settle();
    supervisor.stop('SIGTERM');
    await clock.settle();
    expect(events.slice(0, 5)).toEqual(['start store', 'start pool', 'start ingest', 'start source', 'start rest']);
    expect(events.slice(5)).toEqual(['drain ingest', 'drain source', 'drain rest', 'drain pool', 'drain store']);
  });

  it.each([
    ['that leaves a part out', ['a', 'b'], ['a']],
    ['that ends a part twice', ['a', 'b'], ['a', 'a']],
    ['that ends a part twice beside the others', ['a', 'b'], ['a', 'b', 'a']],
    ['that starts a part twice', ['a', 'b', 'a'], ['a', 'b']],
    ['that ends a part which it does not start', ['a'], ['a', 'b']],
  ])('refuses a plan %s', (_, starts, ends) => {
    const parts = new Map(['a', 'b'].map((name) => [name, part(name)]));
    const of = (names: string[]) => names.flatMap((name) => parts.get(name) ?? []);
    const phases = [{ name: 'all', starts: of(starts), ends: of(ends) }];
    expect(() => new Supervisor({ clock, log }, { phases, drainDeadlineMs: 1000 })).toThrow(
      /phase all: .*same services/,
    );
  });
});
