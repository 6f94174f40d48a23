import type { Clock } from '../runtime/clock.ts';
import type { ProbeResult } from './account-probes.ts';

export interface ProbeDeps {
  readonly clock: Clock;
}

/**
 * One read, which ends with its deadline, with the term, or with `stop`: whatever comes of it later is not listened to. Never rejects, never hangs; what did not
 * end well is `failed`, which counts for nothing.
 */
export async function runProbe(
  { clock }: ProbeDeps,
  read: (signal: AbortSignal) => Promise<ProbeResult>,
  limits: { readonly deadlineMs: number; readonly stop: AbortSignal },
): Promise<ProbeResult> {
  const { deadlineMs, stop } = limits;
  const over = new AbortController();
  const giveUp = () => over.abort();
  if (stop.aborted) return failed('STOPPED', 'nobody waits for it any more');
  stop.addEventListener('abort', giveUp, { once: true });
  const timer = clock.after(deadlineMs, giveUp);
  const ended = new Promise<ProbeResult>((resolve) => {
    over.signal.addEventListener('abort', () => resolve(failed('DEADLINE', 'the read did not end in time')), { once: true });
  });
  try {
    return await Promise.race([read(over.signal), ended]);
  } catch (error) {
    return failed('PROBE_FAILED', String(error));
  } finally {
    timer.cancel();
    stop.removeEventListener('abort', giveUp);
  }
}

function failed(code: string, message: string): ProbeResult {
  return { kind: 'failed', reason: { code, message } };
}
