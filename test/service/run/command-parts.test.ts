import { expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/load-config.ts';
import { commandDefaults } from '../../../src/service/commands/command-options.ts';
import { commandOptions } from '../../../src/service/run/command-parts.ts';

function optionsOf(env: Record<string, string>) {
  const loaded = loadConfig(env, () => '');
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
  return commandOptions(loaded.config);
}

it('without any setting commands are off, only simulated accounts may be traded, and the rest is as `commandDefaults` has it', () => {
  expect(optionsOf({})).toEqual({ ...commandDefaults, enabled: false, accounts: [] });
});

it('every setting of commands reaches their service', () => {
  const options = optionsOf({
    TIDEMARK_COMMANDS: 'on',
    TIDEMARK_COMMAND_ACCOUNTS: 'A-1,A-2',
    TIDEMARK_COMMAND_NEEDS_LIVE: 'off',
    TIDEMARK_COMMAND_DEADLINE_MS: '7000',
    TIDEMARK_COMMAND_RATE: '2',
    TIDEMARK_COMMAND_BURST: '4',
    TIDEMARK_CANCEL_RATE: '10',
    TIDEMARK_CANCEL_BURST: '12',
    TIDEMARK_BREAKER_COMMANDS: '31',
    TIDEMARK_BREAKER_WINDOW_MS: '12000',
    TIDEMARK_HALT_UNRESOLVED_ACCOUNT: '5',
    TIDEMARK_HALT_UNRESOLVED_SERVICE: '6',
    TIDEMARK_PROBE_RATE: '8',
    TIDEMARK_PROBE_BURST: '9',
  });
  expect(options).toEqual({
    ...commandDefaults,
    enabled: true,
    accounts: ['A-1', 'A-2'],
    needsLive: false,
    deadlineMs: 7000,
    rate: { perSecond: 2, burst: 4 },
    cancelRate: { perSecond: 10, burst: 12 },
    breaker: { count: 31, windowMs: 12_000 },
    haltAt: { account: 5, service: 6 },
    probes: { perSecond: 8, burst: 9 },
  });
});
