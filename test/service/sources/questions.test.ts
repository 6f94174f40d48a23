import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { type Question, questions, restAfter } from '../../../src/service/sources/questions.ts';

const folder = 'src/service/sources';

it('are in the README with the urgency and the rests that they have', () => {
  const shown = readFileSync(`${folder}/README.md`, 'utf8').matchAll(/^\| `(\w+)` \| (\d) \| ([^|]+) \|/gm);
  const unit = { ms: 'ms', audit: 'audits' };
  const expected = Object.entries(questions).map(([question, { urgency, firstRest, longestRest, unit: of }]) => {
    const rests = firstRest === longestRest ? `${firstRest}` : `${firstRest} to ${longestRest}`;
    return [question, `${urgency}`, `${rests} ${unit[of]}`];
  });
  expect([...shown].map(([, ...cells]) => cells)).toEqual(expected);
});

it('rest twice as long after each look, up to the longest', () => {
  const rests = (question: Question, looks: number) => Array.from({ length: looks }, (_, i) => restAfter(question, i));
  expect(rests('silent', 7)).toEqual([2, 4, 8, 16, 32, 60, 60]);
  expect(rests('doubt', 2)).toEqual([5_000, 5_000]);
  for (const [question, { longestRest }] of Object.entries(questions))
    expect(restAfter(question as Question, 60)).toBe(longestRest);
});

it('are asked in the files that the README names, and in no others', () => {
  const named = new Set(readFileSync(`${folder}/README.md`, 'utf8').match(/[\w-]+\.ts/g));
  for (const question of Object.keys(questions)) {
    const asks = new RegExp(`(?:question: |restAfter\\()'${question}'`);
    const files = readdirSync(folder).filter((file) => file.endsWith('.ts'));
    const asking = files.filter((file) => asks.test(readFileSync(`${folder}/${file}`, 'utf8')));
    expect(asking.filter((file) => !named.has(file))).toEqual([]);
    expect(asking.length, question).toBeGreaterThan(0);
  }
});
