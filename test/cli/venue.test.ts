import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { CliIo } from '../../src/cli/io/io.ts';
import { runProgram } from '../../src/cli/program.ts';
import { venueCommand } from '../../src/cli/venue.ts';
import type { RecordedRow } from '../../src/service/sources/recorded-row.ts';
import { alpacaText, updateText } from '../../src/venue/alpaca/fixtures/rows.ts';
import { accountRow, eventText, predictionRow, rowText } from '../../src/venue/platform/fixtures/rows.ts';
import { platformCheck } from '../../src/venue/platform/platform-check.ts';
import type { StreamTopic } from '../../src/venue/platform/wire/stream-messages.ts';
import { cliIo } from '../support/rest/cli-io.ts';

const about = { accountId: 'acct-1', observedAtMs: Date.UTC(2026, 10, 21, 14, 30), sourceEpoch: 0 } as const;

const frame = (stream: StreamTopic, row: typeof accountRow, version?: bigint): RecordedRow => ({
  ...{ ...about, stream, cause: 'stream', text: eventText(stream, 'acct-1', row, version) },
});
const shown = (row: typeof accountRow, more: Partial<RecordedRow> = {}): RecordedRow => ({
  ...{ ...about, stream: 'account', cause: 'snapshot', text: rowText(row), ...more },
});

async function replay(lines: readonly (object | string)[], flags: readonly string[] = []) {
  const io = cliIo();
  const file = join(io.cwd, 'a.ndjson');
  writeFileSync(file, lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''));
  await runProgram(io, ['venue', 'replay', file, ...flags]);
  return { code: io.code(), out: io.out().replaceAll(file, 'a'), err: io.err() };
}

const steps = (out: string) =>
  out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

describe('venue replay', () => {
  const filled = {
    ...accountRow,
    ordStatus: 'FILLED',
    cumQty: '100',
    leavesQty: '0',
    updatedAt: '2026-11-21T14:30:09Z',
  };

  it('plays frames and rows as the service took them, and says how each ended', async () => {
    const { code, out } = await replay([
      frame('account', accountRow),
      shown(accountRow),
      shown(filled),
      frame('account', { ...accountRow, ordStatus: 'PENDING_NEW' }),
      frame('prediction', predictionRow, 9_007_199_254_740_993n),
      frame('prediction', predictionRow, 9_007_199_254_740_992n),
    ]);
    expect([code, out]).toEqual([0, '2 orders; 3 applied, 1 duplicate, 2 stale.\n']);
  });

  it('shows each row of one order with its revision and what it changed', async () => {
    const { out } = await replay(
      [frame('account', accountRow), shown(filled), frame('prediction', predictionRow, 1n)],
      ['--order', 'ord-1'],
    );
    const [heading, first, second, , sum] = out.split('\n');
    expect(heading).toMatch(/^PLACE +AT +CAUSE +CAME +REVISION +STATUS +CHANGED/);
    expect(first).toMatch(/^a:1 +2026-11-21T14:30:00.000Z +stream +applied +1 +new /);
    expect(second).toMatch(/^a:2 .* snapshot +applied +2 +filled +.*status.*cumQty/);
    expect(sum).toBe('2 orders; 3 applied.');
  });

  it('ends with 1 and names the place of what was unreadable, in conflict, left out or none of its lines', async () => {
    const { code, out } = await replay([
      frame('prediction', predictionRow, 4n),
      frame('prediction', { ...predictionRow, price: '0.41', workingPrice: '0.41' }, 4n),
      shown({ ...accountRow, qty: 'many' }),
      { ...about, stream: 'account', cause: 'stream', text: 'half a fra' },
      { leftOut: 12 },
      '{"torn":',
    ]);
    expect(code).toBe(1);
    expect(out).toMatch(/^a:2 +conflict +acct-1 +7d9f0a52\S+ +same_version_other_content: version 4/m);
    expect(out).toMatch(/^a:3 +unreadable +acct-1 +ord-1 +bad_decimal: qty/m);
    expect(out).toMatch(/^a:4 +unreadable +acct-1 +- +not_json/m);
    expect(out).toMatch(/^a:5 +gap +- +- +12 rows were left out here/m);
    expect(out).toMatch(/^a:6 +not_a_line/m);
    expect(out).toMatch(/\n1 order; 1 applied, 1 conflict, 2 unreadable, 1 gap, 1 not_a_line\.\n$/);
  });

  it('takes back an end only by a confirmed read, and reduces nothing that was withheld', async () => {
    const working = { ...accountRow, cumQty: '40', leavesQty: '60', updatedAt: '2026-11-21T14:31:00Z' };
    const { out } = await replay(
      [shown(filled), shown(working), shown(working, { confirmed: true }), shown(accountRow, { withheld: true })],
      ['--json'],
    );
    const came = steps(out).map(({ came, doubt, status, revision }) => ({ came, doubt, status, revision }));
    expect(came[1]).toMatchObject({ doubt: expect.any(String) });
    expect(came[1]?.came).not.toBe('conflict');
    expect(came[2]).toMatchObject({ came: 'applied', status: 'new' });
    expect(came[3]).toEqual({ came: 'withheld' });
  });

  it('passes over a frame without an order, and says which account a foreign row came to', async () => {
    const { code, out } = await replay([
      { ...about, stream: 'account', cause: 'stream', text: '{"type":"heartbeat"}' },
      shown({ ...accountRow, accountId: 'another' }),
      shown({ ...accountRow, ordId: '0', ordStatus: 'PENDING_NEW' }),
    ]);
    expect(code).toBe(0);
    expect(out).toMatch(/^a:2 +foreign +acct-1/m);
    expect(out).toMatch(/\n0 orders; 1 control, 1 foreign, 1 unacknowledged\.\n$/);
  });

  it('says which file can not be read', async () => {
    const io = cliIo();
    await runProgram(io, ['venue', 'replay', join(io.cwd, 'none')]);
    expect(io.code()).toBe(1);
    expect(io.err()).toMatch(/none can't be read: .*ENOENT/);
    expect(io.err()).toContain('Give the files of the folder that TIDEMARK_RECORD named.');
  });
});

describe('issue: A recording of Alpaca could not be replayed: its first row ended the command.', () => {
  it('plays the rows of every venue', async () => {
    const of = { ...about, stream: 'alpaca_paper' } as const;
    const { code, out } = await replay([
      { ...of, cause: 'stream', text: updateText('new') },
      { ...of, cause: 'snapshot', text: alpacaText({ status: 'filled', filled_qty: '100', filled_avg_price: '1' }) },
      shown(accountRow),
    ]);
    expect([code, out]).toEqual([0, '2 orders; 3 applied.\n']);
  });
});

describe('venue check', () => {
  it('prints a line for each check of the platform and ends with their count', async () => {
    const io = cliIo();
    await runProgram(io, ['venue', 'check', 'platform']);
    const [heading, ...lines] = io.out().split('\n');
    expect(heading).toMatch(/^PART +FIXTURE +RESULT$/);
    expect(lines).toContainEqual(expect.stringMatching(/^frames +account, event +held$/));
    expect(lines.at(-2)).toMatch(/^\d{3} checks; 0 missing\.$/);
    expect(io.code()).toBe(0);
  });

  it('ends with 1 when something is missing, and says what, as JSON too', async () => {
    const nothing = { ...platformCheck.streams.account, frames: {}, rows: {}, lives: {} };
    const broken = { ...platformCheck, streams: { account: nothing, prediction: nothing } };
    const load = async () => (io: CliIo) => venueCommand(io, { broken });
    const entries = [{ name: 'venue', summary: 'made up', load }];
    const io = cliIo();
    await runProgram(io, ['venue', 'check', 'broken'], entries);
    expect(io.out()).toMatch(/^lives +prediction, a life +none is recorded$/m);
    expect(io.out()).toMatch(/\n\d+ checks; [1-9]\d* missing\.\n$/);
    const asJson = cliIo();
    await runProgram(asJson, ['venue', 'check', 'broken', '--json'], entries);
    const line = { part: 'lives', name: 'prediction, a life', missing: 'none is recorded' };
    expect(steps(asJson.out())).toContainEqual(line);
    expect([io.code(), asJson.code()]).toEqual([1, 1]);
  });

  it('says which venues there are', async () => {
    const io = cliIo();
    await runProgram(io, ['venue', 'check', 'nothing']);
    expect(io.err()).toMatch(/nothing can't be loaded: .*nothing/);
    expect(io.err()).toContain('Give platform, alpaca, or the path of a module that exports `underCheck`');
    expect(io.code()).toBe(64);
  });

  it('takes the path of a venue that is not in Tidemark', async () => {
    const io = { ...cliIo(), cwd: resolve('.') };
    await runProgram(io, ['venue', 'check', 'docs/venues/cove-check.ts']);
    expect(io.out()).toMatch(/^lives +cove, .* held$/m);
    expect(io.out()).toMatch(/\n\d+ checks; 0 missing\.\n$/);
    await runProgram(io, ['venue', 'check', 'docs/venues/cove.ts']);
    expect(io.err()).toContain('docs/venues/cove.ts exports no `underCheck`');
    const begun = join(cliIo().cwd, 'begun.ts');
    writeFileSync(begun, 'export const underCheck = { venue: {}, writes: {} };');
    await runProgram(io, ['venue', 'check', begun]);
    expect(io.err()).toContain('begun.ts lacks streams, judgeWrite');
    expect(io.code()).toBe(64);
  });
});
