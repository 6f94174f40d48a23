import type { ExchangeOrder, Stream } from '../exchange/exchange-order.ts';

/** Why a write is not done. `flat` and `nested` are the general error bodies, `prediction` the envelope (specification, "Errors"). */
export interface Refusal {
  readonly refused: true;
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly shape: 'flat' | 'nested' | 'prediction';
}

export type WriteKind = 'place' | 'replace' | 'cancel';

/** A write that order entry understood: its subject, how it is done, and the answer to the caller. */
export interface Write {
  readonly refused: false;
  readonly kind: WriteKind;
  readonly stream: Stream;
  readonly accountId: string;
  /** `clientId` or `clientOrderRef`, when one was sent. */
  readonly reference?: string;
  /** Who asked, where the order itself does not show it: `placedBy` names only who placed it. */
  readonly by?: string;
  /** Does it, if the state of the moment allows it. A delayed one is judged when it arrives, not when it was asked for. */
  attempt(): ExchangeOrder | Refusal;
  /** JSON of the success answer about `order`. */
  readonly answer: { readonly status: number; readonly body: (order: ExchangeOrder) => string };
}

export function isRefusal(result: ExchangeOrder | Refusal): result is Refusal {
  return 'refused' in result;
}
