import type { AccountProbes, AccountStanding, ProbeResult } from '../../commands/account-probes.ts';
import type { AccountLook } from '../../connectors/account-access.ts';
import type { Stream } from '../../domain/order.ts';
import type { ReadBudget } from '../../runtime/read-budget.ts';
import type { EntryAccounts } from './entry-accounts.ts';
import { reasonOf } from './reason-of.ts';

/** The port `AccountProbes` over the accounts that the connectors follow. An account that nobody follows has nothing to say: every look at it fails. */
export class PlatformAccountProbes implements AccountProbes {
  private readonly accounts: EntryAccounts;

  constructor(deps: { accounts: EntryAccounts }) {
    this.accounts = deps.accounts;
  }

  standing(stream: Stream, accountId: string): AccountStanding {
    const account = this.accounts.account(stream, accountId);
    // Not known to be simulated is taken for real: that is the answer which permits less.
    if (account === undefined)
      return { known: false, mayAppear: !this.accounts.hasListed, live: false, isSim: false, certain: false };
    const { live, isSim, certain } = account;
    return { known: true, live, isSim, certain };
  }

  async byReference(
    stream: Stream,
    accountId: string,
    attemptId: string,
    signal: AbortSignal,
    budget?: ReadBudget,
  ): Promise<ProbeResult> {
    return resultOf(await this.accounts.account(stream, accountId)?.lookFor(attemptId, signal, budget));
  }

  async readAccount(
    stream: Stream,
    accountId: string,
    signal: AbortSignal,
    sinceMs?: number,
    budget?: ReadBudget,
  ): Promise<ProbeResult> {
    return resultOf(await this.accounts.account(stream, accountId)?.lookAtAll(sinceMs, signal, budget));
  }

  async readOrder(
    stream: Stream,
    accountId: string,
    orderId: string,
    signal: AbortSignal,
    budget?: ReadBudget,
  ): Promise<ProbeResult> {
    return resultOf(await this.accounts.account(stream, accountId)?.lookAt(orderId, signal, budget));
  }
}

function resultOf(look: AccountLook | undefined): ProbeResult {
  if (look === undefined) return { kind: 'failed', reason: { code: 'NOT_FOLLOWED', message: 'the account is not followed' } };
  if (!look.complete) return { kind: 'failed', reason: reasonOf(look.error) };
  const { startedMs, certain, shown } = look;
  return { kind: 'complete', startedAtMs: startedMs, certain, shown };
}
