import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { expectNothingLeft, givenParts, lastLine, startDemo } from '../support/runs/running-demo.ts';

/**
 * What the README and its page show of a demo, without what depends on the machine and on chance.
 */
function shownLines(): string[] {
  const lines = ['README.md', 'docs/demo.md'].flatMap((page) => {
    const shown = /```\n(Open [\s\S]*?)```/.exec(readFileSync(page, 'utf8'))?.[1]?.split('\n') ?? [];
    return shown.filter((line) => /^(Sandbox|Service|REST|Updates|\d\. |By ledger|\d+ commands)/.test(line));
  });
  expect(lines.length).toBeGreaterThan(11);
  return lines;
}

function shapeOf(text: string): string {
  return text.replace(/\d+/g, '0').replace(/ {2,}/g, '  ');
}

it('the demo ends by itself after its seconds, proves that nothing was lost, and leaves nothing behind', async () => {
  const demo = startDemo(['--seconds', '5', '--json'], {});
  expect(await demo.exited, demo.err).toBe(0);
  const proof = lastLine(demo.out);
  expect(proof).toMatchObject({
    lost: 0,
    doubled: 0,
    outOfOrder: 0,
    kafka: expect.stringMatching(/^Kafka \d/),
    postgres: expect.stringMatching(/^Postgres \d/),
  });
  for (const figure of ['observations', 'updates', 'published', 'consumed', 'orders']) {
    expect(proof[figure], figure).toBeGreaterThan(0);
  }
  expect(proof['consumed']).toBe(proof['updates']);
  expect(proof).toMatchObject({ commands: 5, resolved: 5, unresolved: 0 });
  for (const verdict of [
    'placed    ⇒ applied',
    'replaced  ⇒ applied',
    'landed    ⇒ applied',
    'late      ⇒ applied',
    'lost      ⇒ rejected',
  ])
    expect(demo.err, verdict).toContain(verdict);
  expect(demo.err, 'the order that landed late, as a consumer reads it').toMatch(/r1 .* buy {2}0\/5 KO limit 1$/m);
  expect(demo.out.trimEnd(), 'stdout is for the proof alone').not.toContain('\n');
  expect(demo.err, 'updates as the consumer reads them').toMatch(
    /^\d\d:\d\d:\d\d SIM-\d+ [0-9a-f]{8} r\d+ +\w+ +(buy|sell)\w* +\d+\/\d+ /m,
  );
  expect(demo.err).toContain('Where to look next');
  const short = demo.err.split('\n').filter((line) => /^\d\d:\d\d:\d\d /.test(line));
  expect(short.length).toBeGreaterThan(10);
  expect(short.filter((line) => line.length > 100)).toEqual([]);
  for (const line of shownLines()) expect(shapeOf(demo.err), 'as the pages show it').toContain(shapeOf(line));
  await expectNothingLeft(demo);
}, 240_000);

it('the demo of Alpaca proves the same, and its orders are on the stream of Alpaca', async () => {
  const demo = startDemo(['--venue', 'alpaca', '--seconds', '5', '--json'], await givenParts());
  expect(await demo.exited, demo.err).toBe(0);
  const proof = lastLine(demo.out);
  expect(proof).toMatchObject({ lost: 0, doubled: 0, outOfOrder: 0, commands: 5, resolved: 5, unresolved: 0 });
  for (const figure of ['observations', 'orders', 'consumed']) expect(proof[figure], figure).toBeGreaterThan(0);
  expect(proof['consumed']).toBe(proof['updates']);
  expect(demo.err.match(/⇒ \w+/g)?.sort()).toEqual([...Array(4).fill('⇒ applied'), '⇒ rejected', '⇒ unknown']);
  expect(demo.err).toContain('"stream":"alpaca_paper"');
  expect(demo.err).toContain('tidemark tail --stream alpaca_paper');
  expect(demo.err).toMatch(/^Sandbox {3}http:\S+, Alpaca's trading API, 20 changes a second/m);
  await expectNothingLeft(demo);
}, 120_000);
