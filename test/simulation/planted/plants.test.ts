import { readdirSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { HeadCache } from '../../../src/service/orders/head-cache.ts';
import { runSeed } from '../run-seed.ts';
import { catchBug } from './catch-bug.ts';
import type { PlantedBug } from './planted-bug.ts';
import { plantedBugs } from './planted-bugs.ts';
import { instead, replaced } from './replaced.ts';

type Given = Parameters<NonNullable<PlantedBug['deps']>>;
let given: Given;

/** The parts of the first process of a run, and its world. */
beforeAll(async () => {
  const parts: Given[] = [];
  const look: PlantedBug = {
    ...{ name: 'nothing', shows: /^$/ },
    deps: (...deps) => {
      parts.push(deps);
      return {};
    },
  };
  await runSeed(1, { bug: look });
  const [first] = parts;
  if (first === undefined) throw new Error('no process was started');
  given = first;
});

/** What bugs change in the world itself. */
function switchesOf([, { database }]: Given) {
  return { ...database.shards };
}

describe('a planted bug', () => {
  it.each(plantedBugs.map((bug) => [bug.name, bug] as const))('changes something: %s', (_name, { plant, deps }) => {
    expect(plant ?? deps).toBeDefined();
    plant?.()();
    if (deps === undefined) return;
    const [own] = given;
    const before = switchesOf(given);
    const changed = deps(...given);
    const differs = Object.entries(changed).map(([name, part]) => part !== own[name as keyof typeof own]);
    expect(differs).not.toContain(false);
    const after = switchesOf(given);
    const switched = Object.keys(after).some((name) => after[name as never] !== before[name as never]);
    expect(differs.length > 0 || switched).toBe(true);
    Object.assign(given[1].database.shards, before);
  });

  it('is refused where its method has another name by now', () => {
    expect(replaced(HeadCache, 'evicted' as keyof HeadCache, () => undefined)).toThrow('plants nothing');
    const part = { known: () => 1 };
    expect(() => instead(part, { renamed: () => 2 } as object)).toThrow('plants nothing');
    expect(instead(part, { known: () => 2 }).known()).toBe(2);
  });

  it('is refused where no run calls its method', async () => {
    class Unused {
      method(): void {}
    }
    const bug = { name: 'unused', shows: /./, plant: replaced(Unused, 'method', () => undefined) };
    await expect(catchBug(bug, 1)).rejects.toThrow('Unused.method is never called');
    const other: PlantedBug = { name: 'called', shows: /^never$/, plant: replaced(HeadCache, 'pin', () => undefined) };
    expect(await catchBug(other, 1)).toBeUndefined();
  });

  it('changes parts of objects by `instead` alone, which knows their names', () => {
    const files = readdirSync(import.meta.dirname).filter((file) => file.startsWith('planted-'));
    const text = files.map((file) => readFileSync(`${import.meta.dirname}/${file}`, 'utf8')).join('\n');
    expect(files.length).toBeGreaterThan(4);
    expect(text).not.toContain('Object.create(');
  });
});
