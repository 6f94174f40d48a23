// What a user saw: An account that placed orders at its allowed rate was halted after 50 seconds.

import { expect, it } from 'vitest';
import { loadConfig } from '../../../../src/config/load-config.ts';
import type { Clock } from '../../../../src/runtime/clock.ts';
import { commandDefaults } from '../../../../src/service/commands/command-options.ts';
import { RateBreaker } from '../../../../src/service/commands/rate-breaker.ts';
import { RateBudget } from '../../../../src/service/commands/rate-budget.ts';
import { CommandRig, placeEquity } from '../../../support/commands/command-rig.ts';
import { VirtualClock } from '../../../support/runs/virtual-clock.ts';

const account = { kind: 'account', accountId: 'acct-1' } as const;

/** Faults of the configuration with these settings of the command side, by name. */
function faults(settings: Record<string, string>): string[] {
  const result = loadConfig(settings, () => '');
  return result.ok ? [] : result.faults.map(({ name, problem }) => `${name} ${problem}`);
}

// 1,000 in 60 s was below 20 a second: an account at its allowed rate was halted after 50 seconds.
it('an account that uses all of its default budget is never halted by the default breaker', () => {
  const clock = new VirtualClock();
  let ms = 0;
  const stepping: Clock = Object.assign(Object.create(clock), { monotonicMs: () => ms });
  const budget = new RateBudget(stepping, commandDefaults.rate);
  const breaker = new RateBreaker(stepping, commandDefaults.breaker);
  let sent = 0;
  for (ms = 0; ms < 600_000; ms += 10) {
    if (budget.take('A') !== undefined) continue;
    sent += 1;
    expect(breaker.count('A')).toBe(false);
  }
  expect(sent).toBeGreaterThan(11_000);
});

it('a breaker that the budget alone may reach is a fault of the configuration', () => {
  const names = {
    TIDEMARK_COMMAND_RATE: '20',
    TIDEMARK_COMMAND_BURST: '40',
    TIDEMARK_BREAKER_WINDOW_MS: '60000',
  };
  expect(faults({ ...names, TIDEMARK_BREAKER_COMMANDS: '1300' })).toContainEqual(
    expect.stringMatching(
      /^TIDEMARK_BREAKER_COMMANDS \(1300\) must be above 1300: the budget .*TIDEMARK_COMMAND_RATE.*TIDEMARK_COMMAND_BURST.*allows as many within TIDEMARK_BREAKER_WINDOW_MS/,
    ),
  );
  expect(faults({ ...names, TIDEMARK_BREAKER_COMMANDS: '1301' }).filter((each) => each.includes('BREAKER'))).toEqual(
    [],
  );
  expect(faults({}).filter((each) => each.includes('BREAKER'))).toEqual([]);
});

it('a loop that asks for far more than its budget trips the breaker, though the budget lets nothing more through', async () => {
  const rig = await CommandRig.leading({ rate: { perSecond: 2, burst: 2 }, breaker: { count: 20, windowMs: 1_000 } });
  for (let qty = 1; qty <= 19; qty += 1)
    await rig.submit({ ...placeEquity, terms: { ...placeEquity.terms, qty: String(qty) } });
  expect(rig.entry.sent).toHaveLength(2);
  expect(rig.commands.operator.halts.list()).toEqual([]);
  await rig.submit({ ...placeEquity, terms: { ...placeEquity.terms, qty: '20' } });
  expect(rig.commands.operator.halts.list()).toMatchObject([{ cause: 'rate', scope: account }]);
});

it('the same key again and again is no loop of orders', async () => {
  const rig = await CommandRig.leading({
    rate: { perSecond: 100, burst: 100 },
    breaker: { count: 20, windowMs: 1_000 },
  });
  for (let times = 0; times < 40; times += 1) await rig.submit(placeEquity, { idempotencyKey: 'one' });
  expect(rig.commands.operator.halts.list()).toEqual([]);
});
