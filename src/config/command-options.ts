import { platformId } from '../domain/platform-id.ts';
import { inGroup, integer, list, oneOf } from './option.ts';

const hour = 3_600_000;

/**
 * Placing, replacing and cancelling: whether it is on, for which accounts, how fast, and when it
 * stops.
 */
export const commandOptions = inGroup('Commands', {
  commands: oneOf({
    env: 'TIDEMARK_COMMANDS',
    words: ['off', 'on'],
    fallback: 'off',
    describe:
      'Whether orders may be placed, replaced and cancelled. Off unless turned on, because client credentials may reach every account of the platform; reads work either way.',
  }),
  commandAccounts: list({
    env: 'TIDEMARK_COMMAND_ACCOUNTS',
    pattern: platformId,
    shape: 'account ids, separated by commas',
    describe:
      'Accounts that may be traded, and no others. Without it: simulated accounts only (`is_sim`). A real account is traded only when it is named here.',
  }),
  commandDeadlineMs: integer({
    env: 'TIDEMARK_COMMAND_DEADLINE_MS',
    unit: 'milliseconds',
    min: 1000,
    max: 600_000,
    fallback: '10000',
    describe:
      'How long attempts that were not sent (at capacity, unavailable, no connection) are followed by others. An attempt that may have been sent is never followed by one.',
  }),
  callerRef: oneOf({
    env: 'TIDEMARK_CALLER_REF',
    words: ['any', 'unique'],
    fallback: 'any',
    describe:
      'Whether a caller may give its reference (`clientId`, `clientOrderRef`) to more than one command. `unique`: 409 `CALLER_REF_REUSED` for one that a command of the principal has, whatever became of it, also from before this was set.',
  }),
  commandNeedsLive: oneOf({
    env: 'TIDEMARK_COMMAND_NEEDS_LIVE',
    words: ['off', 'on'],
    fallback: 'on',
    describe:
      'Refuses to place and replace (503 `SOURCE_NOT_LIVE`) while the stream of the account is not live, since the outcome would be learnt late. Cancels always pass.',
  }),
  commandRate: integer({
    env: 'TIDEMARK_COMMAND_RATE',
    min: 1,
    max: 10_000,
    fallback: '20',
    describe:
      'Places and replaces a second that one account may send over time, whichever instance holds it; above it 429 `RATE_LIMITED`.',
  }),
  commandBurst: integer({
    env: 'TIDEMARK_COMMAND_BURST',
    min: 1,
    max: 100_000,
    fallback: '40',
    describe: 'How many of them one account may send at once after a pause.',
  }),
  cancelRate: integer({
    env: 'TIDEMARK_CANCEL_RATE',
    min: 1,
    max: 10_000,
    fallback: '100',
    describe:
      'Cancels a second that one account may send over time, beside its places; above it 429 `RATE_LIMITED`. A ceiling for a loop that runs away: the cancels of a cancel-all do not count.',
  }),
  cancelBurst: integer({
    env: 'TIDEMARK_CANCEL_BURST',
    min: 1,
    max: 100_000,
    fallback: '1000',
    describe: 'How many cancels one account may send at once after a pause.',
  }),
  breakerCommands: integer({
    env: 'TIDEMARK_BREAKER_COMMANDS',
    min: 1,
    max: 1_000_000,
    fallback: '3000',
    describe:
      'So many places and replaces asked for on one account within `TIDEMARK_BREAKER_WINDOW_MS` halt it to cancel only, until a person resumes it. Those that got 429 count, so it has to be above what `TIDEMARK_COMMAND_RATE` and `TIDEMARK_COMMAND_BURST` allow. For a loop that runs away, not for pacing.',
  }),
  breakerWindowMs: integer({
    env: 'TIDEMARK_BREAKER_WINDOW_MS',
    unit: 'milliseconds',
    min: 100,
    max: hour,
    fallback: '60000',
    describe: 'The window of `TIDEMARK_BREAKER_COMMANDS`.',
  }),
  haltUnresolvedAccount: integer({
    env: 'TIDEMARK_HALT_UNRESOLVED_ACCOUNT',
    min: 1,
    max: 100_000,
    fallback: '3',
    describe: 'So many commands of one account with an outcome that is not known halt it to cancel only.',
  }),
  haltUnresolvedService: integer({
    env: 'TIDEMARK_HALT_UNRESOLVED_SERVICE',
    min: 1,
    max: 100_000,
    fallback: '10',
    describe: 'So many of all accounts and instances halt every account.',
  }),
  fourEyes: oneOf({
    env: 'TIDEMARK_FOUR_EYES',
    words: ['off', 'on'],
    fallback: 'off',
    describe:
      'Whether resuming, resolving and a change of limits that lets more through need a second principal, who approves within an hour (`tidemark approvals`). Needs sign-in.',
  }),
  probeRate: integer({
    env: 'TIDEMARK_PROBE_RATE',
    min: 1,
    max: 1000,
    fallback: '5',
    describe:
      'Reads a second that all instances together may spend on finding out what became of commands. Each instance has the part of the shards that it holds, and at least one read in five seconds.',
  }),
  probeBurst: integer({
    env: 'TIDEMARK_PROBE_BURST',
    min: 1,
    max: 10_000,
    fallback: '20',
    describe:
      'How many of these reads all instances together may make at once after a pause; an instance at least two.',
  }),
});
