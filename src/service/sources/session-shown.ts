import { present } from '../../domain/present.ts';
import type { ClockAndLogger } from '../../observability/ambient.ts';
import type { AccountParts } from './account-parts.ts';
import { type SessionState, shownAs } from './session-states.ts';
import type { AccountReading, AccountStatus } from './source-status.ts';

interface SessionShownDeps extends ClockAndLogger {
  readonly parts: Pick<
    AccountParts,
    'intake' | 'unrecovered' | 'doubts' | 'absent' | 'outOfReach' | 'audit' | 'lastEventMs'
  >;
}

type Keys = 'state' | 'sinceMs' | 'lastResyncMs' | 'lastAuditMs' | 'lastError';
type Shown = { -readonly [Key in keyof Pick<AccountStatus, Keys>]: AccountStatus[Key] };

/** What people are shown of one account on one stream. Nothing is decided by it. */
export class SessionShown {
  private readonly shown: Shown;
  private readonly deps: SessionShownDeps;
  private readonly about: { readonly stream: string; readonly accountId: string };

  constructor(deps: SessionShownDeps, about: SessionShown['about']) {
    this.deps = deps;
    this.about = about;
    this.shown = { state: 'connecting', sinceMs: deps.clock.nowMs() };
  }

  entered(name: SessionState, error: string | undefined): void {
    if (error !== undefined) this.failed(error);
    const from = this.shown.state;
    const to = name === 'stopped' ? from : shownAs[name];
    if (to === from) return;
    const { clock, log } = this.deps;
    const level = to === 'down' || to === 'login_required' ? 'warn' : 'info';
    log[level](present({ ...this.about, from, to, reason: error }), 'account state');
    this.shown.state = to;
    this.shown.sinceMs = clock.nowMs();
  }

  failed(error: string): void {
    this.shown.lastError = error;
  }

  happened(key: 'lastResyncMs' | 'lastAuditMs'): void {
    this.shown[key] = this.deps.clock.nowMs();
  }

  reading(): AccountReading {
    const { state, lastResyncMs, lastAuditMs } = this.shown;
    const { unrecovered, doubts, absent } = this.deps.parts;
    const counts = { unrecovered: unrecovered.count, inDoubt: doubts.count, absent: absent.shown };
    return { state, lastResyncMs, lastAuditMs, ...counts };
  }

  status(): AccountStatus {
    const { intake, unrecovered, doubts, absent, outOfReach, audit, lastEventMs } = this.deps.parts;
    return present({
      accountId: this.about.accountId,
      ...this.shown,
      lastEventMs,
      sourceEpoch: intake.sourceEpoch,
      unrecovered: unrecovered.count,
      inDoubt: doubts.count,
      absent: absent.shown,
      outOfReach: outOfReach.shown,
      silentLosses: audit.silentLosses,
      lastAuditFound: this.shown.lastAuditMs === undefined ? undefined : audit.found,
    });
  }
}
