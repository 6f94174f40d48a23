import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { expectNothingLeft, givenDatabase, lastLine, ownFolder, startDemo } from '../support/runs/running-demo.ts';

it('an answer that is lost twice makes three orders by the SDK of Alpaca, and one by Tidemark', async () => {
  const demo = startDemo(['--lost-answer', '--json'], await givenDatabase());
  expect(await demo.exited, demo.err).toBe(0);
  expect(lastLine(demo.out)).toEqual({
    broken: [],
    sides: [
      { who: 'alpaca-py, no client id', told: 'placed', words: 'pending_new', sent: 3, orders: ['new', 'new', 'new'] },
      {
        ...{ who: 'alpaca-py, a client id', told: 'refused', words: 'client_order_id must be unique' },
        ...{ sent: 3, orders: ['new'] },
      },
      {
        ...{ who: 'Tidemark', told: 'unknown, then applied', sent: 1, orders: ['new'] },
        words: expect.stringMatching(/^found by client id after \d\.\d s$/),
      },
    ],
  });
  const steady = (text: string) => text.replace(/\d\.\d s$/gm, '0.0 s');
  const [shown = ''] = /^ONE ORDER BY[^`]*/m.exec(readFileSync('README.md', 'utf8')) ?? [];
  expect(steady(demo.err), 'as the README shows it').toContain(steady(shown));
  expect(demo.err).toContain('As claimed: the SDK made three orders of one');
  await expectNothingLeft(demo);
}, 240_000);

it('without Python it says how to get one, and starts nothing', async () => {
  const demo = startDemo(['--lost-answer'], { PATH: '/nowhere', XDG_CACHE_HOME: ownFolder() });
  expect(await demo.exited).toBe(1);
  expect(demo.err).toContain('python3 with pip was not found');
  expect(demo.err).toContain('apt-get install python3-pip');
  expect(demo.out).not.toContain('Starting');
});
