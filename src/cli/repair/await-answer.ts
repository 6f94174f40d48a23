import type { Pool } from 'pg';
import type { Clock } from '../../runtime/clock.ts';
import { answerRepair, askRepair, type NewRepairRequest, type RepairAnswer, readAnswer } from '../../store/repair-requests.ts';

const lookEveryMs = 250;

/**
 * Asks whoever follows the account, and waits for the answer. Who gives up takes the request back, so that it is not done behind his back later; an answer that comes at that very
 * moment counts.
 */
export async function repairBy(
  deps: {
    readonly pool: Pool;
    readonly clock: Clock;
    readonly signal: AbortSignal;
    /** Told now and then how long it has waited, milliseconds. */
    readonly onWait?: (waitedMs: number) => void;
  },
  request: NewRepairRequest,
  waitMs: number,
): Promise<RepairAnswer> {
  const { pool, clock, signal, onWait } = deps;
  const id = await askRepair(pool, request);
  const beganMs = clock.monotonicMs();
  const giveUpMs = beganMs + waitMs;
  while (clock.monotonicMs() < giveUpMs && !signal.aborted) {
    const answer = await readAnswer(pool, id);
    if (answer !== undefined) return answer;
    onWait?.(clock.monotonicMs() - beganMs);
    await clock.sleep(lookEveryMs, signal);
  }
  const withdrawn: RepairAnswer = { outcome: 'withdrawn', detail: 'no service that follows the account has answered' };
  return (await answerRepair(pool, id, withdrawn)) ? withdrawn : ((await readAnswer(pool, id)) ?? withdrawn);
}
