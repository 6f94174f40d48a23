import { html } from '../parts/html.ts';
import { lengthText } from '../parts/time-text.ts';
import { useValue } from '../parts/use-value.ts';
import type { ConsoleState } from '../state/console-state.ts';
import type { StreamState } from '../state/stream-client.ts';
import type { Doubt } from '../state/trust-watch.ts';

/** Whether the page can be trusted, or the doubts by name; and how fresh it is. */
export function TrustBar({ state }: { readonly state: ConsoleState }) {
  const stream = useValue(state.stream.state);
  const { doubts, complete } = useValue(state.trust.state);
  const pulse = useValue(state.pulse);
  const all = [...streamDoubts(stream, pulse.silentMs), ...(doubts ?? [])];
  return html`<div class="trust" role="group" aria-label="Trust">
    <span class="verdict" role="status">
      ${doubts === undefined && all.length === 0 ? html`<span class="badge">Checking …</span>` : verdict(all, complete)}
    </span>
    <span class="facts">
      <span title="Updates that arrived here, over the last five seconds"><b>${pulse.rate === undefined ? '–' : rateText(pulse.rate)}</b> updates/s</span>
      <span class="wide-only" title="Since the stream last said anything; it does so at least every 15 s">
        heard <b>${pulse.silentMs === undefined ? '–' : lengthText(pulse.silentMs)}</b> ago
      </span>
    </span>
  </div>`;
}

function verdict(doubts: readonly Doubt[], complete: boolean) {
  if (doubts.length > 0) return doubts.map(({ name, detail }) => html`<span class="badge warn" title=${detail}>${name}</span>`);
  // It says no more than is known.
  if (!complete) return html`<span class="badge good" title="The stream of updates is open, and nothing is halted">Live</span>`;
  return html`<span class="badge good" title="The service has no doubt about any account">Trusted</span>`;
}

/** Silence for longer than the service ever keeps: two heartbeats are missing. */
const silentTooLongMs = 32_000;

function streamDoubts(state: StreamState, silentMs: number | undefined): Doubt[] {
  if (state.kind === 'connecting') return [{ name: 'Connecting', detail: 'The stream of updates is not open yet.' }];
  if (state.kind !== 'live')
    return [{ name: 'Stream cut', detail: `${state.kind === 'waiting' ? state.why : 'it ended'}; these orders may be old.` }];
  if (silentMs !== undefined && silentMs > silentTooLongMs)
    return [{ name: 'Stream silent', detail: 'The stream is open but says nothing; these orders may be old.' }];
  return [];
}

function rateText(rate: number): string {
  return rate < 10 ? rate.toFixed(1) : String(Math.round(rate));
}
