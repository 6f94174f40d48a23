import type { Http } from '../../platform/http.ts';
import type { Clock } from '../../runtime/clock.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

/** The `Date` header has whole seconds, so a smaller difference can't be seen. */
const seenFromMs = 2000;
/** From here on tokens are renewed too late or too early, and the times in the records mislead people. */
const harmfulFromMs = 30_000;

/** Our clock beside the platform's (`Date` header of any answer), taken at the middle of the request. */
export async function checkClock(platformUrl: string, http: Http, clock: Clock): Promise<Finding> {
  const beganMs = clock.nowMs();
  const outcome = await http.request({ operation: 'health', method: 'GET', url: `${platformUrl}/v1/health`, headers: {} });
  const endedMs = clock.nowMs();
  if (outcome.kind === 'failed') {
    return fail('platform', `does not answer: ${outcome.message}`, 'Check PLATFORM_URL, and that this machine may reach it.');
  }
  const theirsMs = Date.parse(outcome.headers['date'] ?? '');
  if (Number.isNaN(theirsMs)) return warn('clock', 'the platform does not tell its time', 'Compare the clock with NTP by hand.');
  const offsetMs = Math.round((beganMs + endedMs) / 2 - (theirsMs + 500));
  const uncertainMs = (endedMs - beganMs) / 2 + seenFromMs;
  const words = `${(Math.abs(offsetMs) / 1000).toFixed(1)} s ${offsetMs > 0 ? 'ahead of' : 'behind'} the platform`;
  if (Math.abs(offsetMs) <= uncertainMs) return ok('clock', 'agrees with the platform');
  const mend = 'Let NTP or chrony set the clock of this machine.';
  return Math.abs(offsetMs) < harmfulFromMs ? warn('clock', words, mend) : fail('clock', words, mend);
}
