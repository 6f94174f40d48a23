import type { AccountProbes, ProbeResult } from '../../src/commands/account-probes.ts';
import type { CrashPoints } from './crash-points.ts';
import type { Host } from './host.ts';

/** Probes at whose begin and end their process may crash. */
export function reachingProbes(probes: AccountProbes, points: CrashPoints, host: Host): AccountProbes {
  const never = new Promise<never>(() => undefined);
  const during = async (read: () => Promise<ProbeResult>): Promise<ProbeResult> => {
    points.reach('read_asked', host);
    if (host.crashed) return never;
    const result = await read();
    points.reach('read_answered', host);
    return host.crashed ? never : result;
  };
  return {
    standing: (...call) => probes.standing(...call),
    byReference: (...call) => during(() => probes.byReference(...call)),
    readAccount: (...call) => during(() => probes.readAccount(...call)),
    readOrder: (...call) => during(() => probes.readOrder(...call)),
  };
}
