import { useConsole } from '../parts/console.ts';
import { runbookLink, useDoubts } from '../parts/doubt-notes.tsx';
import { Link } from '../parts/link.tsx';
import { lengthText } from '../parts/time-text.tsx';
import { useValue } from '../parts/use-value.ts';
import type { ConsoleState } from '../state/console-state.ts';
import { doubtAddress, doubtName } from '../state/doubts.ts';
import { rateText } from '../state/pipeline-steps.ts';
import type { Doubt, StatusState } from '../state/status-watch.ts';
import { zoneText } from '../state/text/zone-text.ts';

/** Whether the page can be trusted, or the doubts by name; and how fresh it is. */
export function TrustBar() {
  const state = useConsole();
  const known = useValue(state.status.state);
  const pulse = useValue(state.pulse);
  const all = useDoubts();
  return (
    <div class="trust" role="group" aria-label="Trust">
      <span class="verdict" role="status">
        {known.doubts === undefined && all.length === 0 ? (
          <span class="badge">Checking …</span>
        ) : (
          verdict(all, known.complete)
        )}
      </span>
      {factsOf(known, pulse, state.ports.nowMs())}
    </div>
  );
}

function verdict(doubts: readonly Doubt[], complete: boolean) {
  if (doubts.length > 0)
    return doubts.map(({ name, detail, runbook }) => (
      <>
        <Link class="badge warn" to={doubtAddress(name)} title={detail}>
          {doubtName(name)}
        </Link>
        {runbookLink(name, runbook, '?', 'badge-help')}
      </>
    ));
  // It says no more than is known.
  const [word, title] = complete
    ? ['Trusted', 'The service has no doubt about any account']
    : ['Live', 'The stream of updates is open'];
  return (
    <span class="badge good" title={title}>
      {word}
    </span>
  );
}

function factsOf({ status, complete }: StatusState, { rate, silentMs }: ConsoleState['pulse']['value'], nowMs: number) {
  const millis = (ms: number | null) => (ms === null ? '–' : lengthText(ms));
  return (
    <span class="facts">
      <span class="wide-only" title="The zone of all times on these pages; each has UTC on hover">
        times in <b>{zoneText(nowMs)}</b>
      </span>
      <span title="Updates that arrived here, over the last five seconds">
        <b>{rate === undefined ? '–' : rateText(rate)}</b> updates/s
      </span>
      {status === undefined || !complete ? (
        <span class="wide-only" title="Since the stream last said anything; it does so at least every 15 s">
          heard <b>{silentMs === undefined ? '–' : lengthText(silentMs)}</b> ago
        </span>
      ) : (
        <>
          <span
            class="wide-only"
            title="From the platform’s socket to Kafka’s acknowledgement, over the last minute: half of the updates, and 99 of 100"
          >
            delay <b>{millis(status.latency.p50Ms)}</b> / <b>{millis(status.latency.p99Ms)}</b>
          </span>
          <span class="wide-only" title="Since a heartbeat last came back from Kafka">
            heartbeat{' '}
            <b>{status.newestHeartbeat === null ? '–' : lengthText(nowMs - Date.parse(status.newestHeartbeat))}</b>
          </span>
        </>
      )}
    </span>
  );
}
