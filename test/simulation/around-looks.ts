import type { AccountLook, FollowedAccounts } from '../../src/service/sources/account-access.ts';
import type { Host } from './host.ts';
import type { CrashPoints } from './plan/crash-points.ts';

export type AroundLook = (look: () => Promise<AccountLook>) => Promise<AccountLook>;

/** The accounts of a service, with every look at one of them made inside `around`. */
export function aroundLooks(accounts: FollowedAccounts, around: AroundLook): FollowedAccounts {
  return {
    get hasListed() {
      return accounts.hasListed;
    },
    streams: accounts.streams,
    standing: (...which) => accounts.standing(...which),
    account: (stream, accountId) => {
      const account = accounts.account(stream, accountId);
      if (account === undefined) return undefined;
      const { live, certain, isSim, notEnrolled } = account;
      return {
        ...{ live, certain, isSim, notEnrolled },
        lookFor: (...call) => around(() => account.lookFor(...call)),
        lookAtAll: (...call) => around(() => account.lookAtAll(...call)),
        lookAtOpen: (...call) => around(() => account.lookAtOpen(...call)),
        lookAt: (...call) => around(() => account.lookAt(...call)),
        expectReply: () => account.expectReply(),
      };
    },
  };
}

/** Looks at whose begin and end their process may crash. */
export function reachingLooks(points: CrashPoints, host: Host): AroundLook {
  const never = new Promise<never>(() => undefined);
  return async (look) => {
    points.reach('read_asked', host);
    if (host.crashed) return never;
    const result = await look();
    points.reach('read_answered', host);
    return host.crashed ? never : result;
  };
}
