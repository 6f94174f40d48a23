import { accountIds, inGroup, integer, milliseconds, oneOf, onOff } from './option.ts';

const hour = 3_600_000;

/**
 * Placing, replacing and cancelling: whether it is on, for which accounts, how fast, and when it
 * stops.
 */
export const commandOptions = inGroup('Commands', {
  commands: onOff({
    env: 'TIDEMARK_COMMANDS',
    fallback: 'off',
    describe:
      'Whether orders may be placed, replaced and cancelled. Off by default, because client credentials may reach every account of the platform. Reads always work.',
  }),
  commandAccounts: accountIds({
    env: 'TIDEMARK_COMMAND_ACCOUNTS',
    describe: 'Only these accounts may be traded. Without it: only simulated accounts (`is_sim`).',
  }),
  commandDeadlineMs: milliseconds({
    env: 'TIDEMARK_COMMAND_DEADLINE_MS',
    min: 1000,
    max: 600_000,
    fallback: '10000',
    describe:
      'How long the service tries again after an attempt that was not sent (at capacity, unavailable, no connection). After an attempt that may have been sent it never tries again.',
  }),
  callerRef: oneOf({
    env: 'TIDEMARK_CALLER_REF',
    words: ['any', 'unique'],
    fallback: 'any',
    describe:
      'Whether a caller may give its reference (`clientId`, `clientOrderRef`) to more than one command. `unique`: a reference of an earlier command of the principal gets 409 `CALLER_REF_REUSED`.',
  }),
  commandNeedsLive: onOff({
    env: 'TIDEMARK_COMMAND_NEEDS_LIVE',
    fallback: 'on',
    describe:
      'Refuses to place and replace (503 `SOURCE_NOT_LIVE`) while the stream of the account is not live. Cancels always pass.',
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
    describe: 'How many places and replaces one account may send at once after a pause.',
  }),
  cancelRate: integer({
    env: 'TIDEMARK_CANCEL_RATE',
    min: 1,
    max: 10_000,
    fallback: '100',
    describe:
      'Cancels a second that one account may send over time, beside its places; above it 429 `RATE_LIMITED`. The cancels of a cancel-all do not count.',
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
      'So many places and replaces on one account within `TIDEMARK_BREAKER_WINDOW_MS` halt the account until a person resumes it: only cancels pass. Those that got 429 count, so it has to be above what `TIDEMARK_COMMAND_RATE` and `TIDEMARK_COMMAND_BURST` allow.',
  }),
  breakerWindowMs: milliseconds({
    env: 'TIDEMARK_BREAKER_WINDOW_MS',
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
    describe: 'When so many commands of one account have no known result, the account is halted: only cancels pass.',
  }),
  haltUnresolvedService: integer({
    env: 'TIDEMARK_HALT_UNRESOLVED_SERVICE',
    min: 1,
    max: 100_000,
    fallback: '10',
    describe: 'When so many commands of all accounts and instances have no known result, every account is halted.',
  }),
  fourEyes: onOff({
    env: 'TIDEMARK_FOUR_EYES',
    fallback: 'off',
    describe:
      'Whether a second principal has to approve, within an hour (`tidemark approvals`), before placing is resumed, a command is resolved, or a limit is loosened. Needs sign-in.',
  }),
  probeRate: integer({
    env: 'TIDEMARK_PROBE_RATE',
    min: 1,
    max: 1000,
    fallback: '5',
    describe:
      'Probes a second of all instances together: reads that find out what became of commands. Each instance has a part by its shards, and at least one in five seconds.',
  }),
  probeBurst: integer({
    env: 'TIDEMARK_PROBE_BURST',
    min: 1,
    max: 10_000,
    fallback: '20',
    describe: 'Probes that all instances together may make at once after a pause; each instance at least two.',
  }),
});
