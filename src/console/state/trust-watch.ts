import { type Signal, signal } from '@preact/signals-core';
import { type Ports, pause } from './ports.ts';
import type { Answer, Rest } from './rest.ts';

/** One reason not to trust the page as it is. */
export interface Doubt {
  readonly name: string;
  readonly detail: string;
}

interface TrustState {
  /** Undefined: not asked yet. */
  readonly doubts: readonly Doubt[] | undefined;
  /** The service itself has looked at everything that it knows; without it, no doubt is no proof. */
  readonly complete: boolean;
}

interface AccountList {
  readonly items: readonly { readonly stream: string; readonly accountId: string; readonly openOrders: number }[];
}

interface HaltList {
  readonly halts: readonly {
    readonly scope: { readonly kind: string; readonly accountId?: string };
    readonly reason: string;
    readonly by: string;
    readonly since: string;
  }[];
}

const everyMs = 5_000;

/** Asks the service again and again whether it can be trusted. */
export class TrustWatch {
  readonly state: Signal<TrustState> = signal<TrustState>({ doubts: undefined, complete: false });
  private readonly ports: Ports;
  private readonly rest: Rest;

  constructor(ports: Ports, rest: Rest) {
    this.ports = ports;
    this.rest = rest;
  }

  async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const state = await readTrust(this.rest, signal);
      if (!signal.aborted) this.state.value = state;
      await pause(this.ports, everyMs, signal);
    }
  }
}

/**
 * The doubts as far as accounts and halts show them. A document of the service's own status replaces this function: it has its own list of doubts, with the
 * states of accounts, delays and losses; nothing else has to change.
 */
async function readTrust(rest: Rest, signal: AbortSignal): Promise<TrustState> {
  const [accounts, halts] = await Promise.all([
    rest.get<AccountList>('/v1/accounts', {}, signal),
    rest.get<HaltList>('/v1/halts', {}, signal),
  ]);
  const items = accounts.kind === 'ok' ? accounts.body.items : [];
  const doubts: Doubt[] = [];
  const missing = [silenceOf('accounts', accounts), silenceOf('halts', halts)].filter((doubt) => doubt !== undefined);
  doubts.push(...missing);
  if (accounts.kind === 'ok' && items.length === 0)
    doubts.push({ name: 'No accounts', detail: 'No account is followed for this token.' });
  if (halts.kind === 'ok') {
    for (const { scope, reason, by, since } of halts.body.halts)
      doubts.push({ name: `Halted: ${scope.accountId ?? 'everything'}`, detail: `${reason} (by ${by}, since ${since})` });
  }
  return { doubts, complete: false };
}

/** A token that may not read it leaves it out; everything else that is no answer is a doubt. */
function silenceOf(name: string, answer: Answer<unknown>): Doubt | undefined {
  if (answer.kind === 'ok' || (answer.kind === 'problem' && answer.status === 403)) return undefined;
  const detail = answer.kind === 'away' ? 'The service does not answer.' : answer.detail;
  return { name: `No ${name}`, detail };
}
