import { beforeEach, describe, expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { ReadGate, type ReadGateOptions, type ReadPass } from '../../../src/service/rest/read-gate.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

const options: ReadGateOptions = {
  ...{ maxRows: 200, maxRowsPerPrincipal: 100, maxHeldBytes: 3000, maxHeldBytesPerPrincipal: 1000 },
  ...{ maxWaitingPerPrincipal: 3, waitMs: 2000 },
};

let clock: VirtualClock;
let metrics: ReturnType<typeof createMetrics>['rest'];
let gate: ReadGate;
/** What became of each read that was asked for, in the order in which it was known. */
let told: string[];
beforeEach(() => {
  clock = new VirtualClock();
  metrics = createMetrics().rest;
  gate = new ReadGate({ clock, metrics }, options);
  told = [];
});

const passes = new Map<string, ReadPass>();
function ask(principal: string, name: string, rows = 50): void {
  void gate.enter(principal, rows).then((pass) => {
    if (pass !== undefined) passes.set(name, pass);
    told.push(pass === undefined ? `${name} refused` : name);
  });
}

const settled = () => clock.advance(0);
const shown = async () =>
  [metrics.readRows, metrics.readsWaiting, metrics.heldBytes].map(
    async (gauge) => (await gauge.get()).values[0]?.value,
  );

describe('the gate of reads', () => {
  it('lets one principal have its rows under way, and another its own beside them', async () => {
    for (const name of ['a1', 'a2', 'a3']) ask('a', name);
    ask('b', 'b1');
    await settled();
    expect(told).toEqual(['a1', 'a2', 'b1']);
    passes.get('a1')?.read(0);
    await settled();
    expect(told.at(-1)).toBe('a3');
  });

  it('lets in those that wait by principal in turn, whatever number one of them has', async () => {
    for (const name of ['a1', 'a2', 'b1', 'b2', 'a3', 'a4', 'c1']) ask(name.charAt(0), name);
    await settled();
    expect(told).toEqual(['a1', 'a2', 'b1', 'b2']);
    for (const name of ['a1', 'a2']) passes.get(name)?.read(0);
    await settled();
    expect(told.slice(4)).toEqual(['a3', 'c1']);
  });

  it('refuses what waits for too long, and what finds too many waiting', async () => {
    for (let i = 1; i <= 6; i += 1) ask('a', `a${i}`);
    await settled();
    expect(told).toEqual(['a1', 'a2', 'a6 refused']);
    await clock.advance(2000);
    expect(told.slice(3)).toEqual(['a3 refused', 'a4 refused', 'a5 refused']);
    expect((await metrics.readsRefused.get()).values[0]?.value).toBe(4);
    passes.get('a1')?.read(0);
    ask('a', 'a7');
    await settled();
    expect(told.at(-1)).toBe('a7');
  });

  it('begins nothing for a principal whose answers are not taken, until they are', async () => {
    ask('a', 'a1');
    await settled();
    passes.get('a1')?.read(1000);
    ask('a', 'a2');
    ask('b', 'b1');
    await settled();
    expect(told).toEqual(['a1', 'b1']);
    passes.get('a1')?.taken();
    await settled();
    expect(told.at(-1)).toBe('a2');
  });

  it('begins nothing for anyone while all of them have not taken what may be held', async () => {
    for (const name of ['a1', 'b1', 'c1', 'd1']) ask(name.charAt(0), name);
    await settled();
    for (const name of ['a1', 'b1', 'c1', 'd1']) passes.get(name)?.read(800);
    ask('e', 'e1');
    await settled();
    expect(told).toEqual(['a1', 'b1', 'c1', 'd1']);
    passes.get('a1')?.taken();
    await settled();
    expect(told.at(-1)).toBe('e1');
  });

  it('lets a read of more rows than there may be pass alone', async () => {
    ask('a', 'a1', 5000);
    ask('b', 'b1');
    await settled();
    expect(told).toEqual(['a1']);
    passes.get('a1')?.read(0);
    await settled();
    expect(told).toEqual(['a1', 'b1']);
  });

  it('keeps nothing of what has ended, also where an answer is taken after its principal came again', async () => {
    ask('a', 'a1');
    await settled();
    passes.get('a1')?.read(0);
    ask('a', 'a2');
    await settled();
    passes.get('a1')?.taken();
    for (const name of ['a3', 'a4']) ask('a', name);
    await settled();
    expect(told).toEqual(['a1', 'a2', 'a3']);
    for (const name of ['a2', 'a3']) passes.get(name)?.read(10);
    await settled();
    passes.get('a4')?.read(0);
    for (const name of ['a2', 'a3', 'a4']) passes.get(name)?.taken();
    expect(await Promise.all(await shown())).toEqual([0, 0, 0]);
  });
});
