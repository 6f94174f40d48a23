interface Condition {
  /** docs/runbooks/<runbook>.md; its alert has the same name. */
  readonly runbook: string;
  /** A route that a token with `ops:read` may read, and that shows what it is about. */
  readonly link: string;
  /** The fact must have lasted so long. Left out: it counts at once. */
  readonly afterMs?: number;
  /** When a person is called for it. Left out: the alert begins with the doubt, or has no bound. */
  readonly alertAfterMs?: number;
  /** Read from the database, so each instance says the same. */
  readonly ofDatabase?: true;
}

/**
 * What may make the data, or a command's result, other than it is shown: the gravest first. The
 * doubts of `/v1/status`, readiness and the alerts take their bounds from here.
 */
const table = {
  no_holder: { runbook: 'NoLaneHolder', link: '/v1/status' },
  standby: { runbook: 'NoLaneHolder', link: '/v1/status' },
  // A shard that moves is without a process for a second or three, one of a process that died for
  // 10 s.
  shards_unassigned: {
    runbook: 'ShardsUnassigned',
    link: '/v1/fleet',
    afterMs: 5_000,
    alertAfterMs: 30_000,
    ofDatabase: true,
  },
  accounts_unfollowed: { runbook: 'AccountsUnfollowed', link: '/v1/accounts' },
  login_required: { runbook: 'TokenExpiring', link: '/v1/status', ofDatabase: true },
  account_not_live: { runbook: 'SourceNeverLive', link: '/v1/accounts' },
  canary_late: { runbook: 'CanaryStale', link: '/v1/history', afterMs: 60_000 },
  // Longer than any batch takes, with its tries, on a database that answers.
  rows_not_stored: { runbook: 'IngestStuck', link: '/v1/history', afterMs: 10_000, alertAfterMs: 60_000 },
  rows_unsent: { runbook: 'RelayStuck', link: '/v1/history', afterMs: 30_000 },
  commands_unresolved: { runbook: 'CommandUnknown', link: '/v1/commands?unresolved=true', alertAfterMs: 60_000 },
  orders_out_of_reach: { runbook: 'OrdersOutOfReach', link: '/v1/status' },
  topics_replaced: { runbook: 'TopicReplaced', link: '/v1/status' },
  topics_differ: { runbook: 'TopicsDiffer', link: '/v1/status' },
  clock_skewed: { runbook: 'ClockSkewed', link: '/v1/status' },
  halted: { runbook: 'PlacingHalted', link: '/v1/halts', ofDatabase: true },
  silent_losses: { runbook: 'SilentLosses', link: '/v1/status' },
  // Of all instances together: their accounts, commands and lag are not known.
  instances_unanswered: { runbook: 'TargetDown', link: '/v1/fleet' },
  dead_letters: { runbook: 'DeadLetters', link: '/v1/dead-letters', ofDatabase: true },
} as const satisfies Readonly<Record<string, Condition>>;

export type DoubtName = keyof typeof table;

export const conditions: { readonly [Name in DoubtName]: Condition & (typeof table)[Name] } = table;

/** The gravest first. */
export const doubtNames = Object.keys(table) as [DoubtName, ...DoubtName[]];

/** How long it lasts before a person is called, in seconds. */
export function alertAfterS(name: DoubtName): number {
  const { afterMs = 0, alertAfterMs = afterMs } = conditions[name];
  return alertAfterMs / 1_000;
}
