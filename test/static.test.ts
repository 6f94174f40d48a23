import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const sourcesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => ({ file: `${folder}/${file}`, text: readFileSync(`${folder}/${file}`, 'utf8') }));

const sources = sourcesIn('src');

/** Classes of bugs that became rules. */
describe('the sources', () => {
  it('take clock, timers, randomness and ids from outside, except in runtime/ and in the two main.ts', () => {
    const direct = /\b(Date\.now\(|new Date\(\)|performance\.now\(|Math\.random\(|randomUUID\(|setTimeout\(|setInterval\()/;
    const offenders = sources
      .filter(({ file }) => !file.startsWith('src/runtime/') && file !== 'src/main.ts' && file !== 'src/console/main.ts')
      .filter(({ text }) => direct.test(text))
      .map(({ file }) => file);
    expect(offenders).toEqual([]);
  });

  it('leave process to main.ts', () => {
    const touches = /\bprocess\.(env|exit|argv|on|stdout|stderr)\b/;
    const offenders = sources.filter(({ file, text }) => file !== 'src/main.ts' && touches.test(text)).map(({ file }) => file);
    expect(offenders).toEqual([]);
  });

  it('join signals with abortWith, since Node keeps what AbortSignal.any made for as long as its sources live', () => {
    expect(sources.filter(({ text }) => text.includes('AbortSignal.any(')).map(({ file }) => file)).toEqual([]);
  });

  it('stay below 400 lines each', () => {
    expect(sources.filter(({ text }) => text.split('\n').length > 400).map(({ file }) => file)).toEqual([]);
  });
});

describe('the parts of the tests', () => {
  it('have names of their own, so that a reader knows which fake a test uses', () => {
    const classesIn = (files: typeof sources) =>
      files.flatMap(({ text }) => [...text.matchAll(/^export class (\w+)/gm)].map(([, name]) => name));
    const ours = new Set(classesIn(sources));
    const theirs = classesIn(sourcesIn('test'));
    expect(theirs.filter((name, i) => ours.has(name) || theirs.indexOf(name) !== i)).toEqual([]);
  });
});
