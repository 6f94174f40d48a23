import type { Order, OrderView } from './order.ts';

/**
 * A row for each field of an order, in the order that `changed` names them. The code that composes
 * and compares orders is generated from it (`order-code.ts`): a loop over names took 1,000 ns where
 * the generated code takes 30. A new field is a row here, a line in `OrderView` and one in
 * `contract/normalised-order.ts`; the compiler asks for all three.
 */
export interface FieldRule {
  /** Instants are compared by value, `working` and `instrument` by their parts, others as text. */
  readonly kind: 'text' | 'decimal' | 'instant' | 'natural' | 'own form';
  /** Always there. Such fields come first in the JSON of an order. */
  readonly required?: true;
  /** Ours, and not the platform's. */
  readonly own?: true;
  /**
   * The group it belongs to in the content of a view, by which views of one instant are compared.
   * Left out: it names the order, or is no content.
   */
  readonly content?: 'state' | 'terms' | 'filled' | 'references' | 'history' | 'expiry';
  /**
   * A register of account orders: once learnt, from any source, it stays.
   *
   * - `revising`: learning it makes a revision.
   * - `remembered`: one kind of source alone has it (list rows have createdAt, events don't). If it
   *   made a revision, the first audit would revise every order. The next revision with another
   *   reason shows it. So arrival order may matter for it, as it may for `extra`.
   */
  readonly register?: 'revising' | 'remembered';
}

export const orderTable = {
  stream: { kind: 'own form', required: true },
  orderId: { kind: 'text', required: true },
  accountId: { kind: 'text', required: true },
  instrument: { kind: 'own form', required: true },
  side: { kind: 'text', required: true },
  orderType: { kind: 'text', required: true, content: 'terms' },
  timeInForce: { kind: 'text', required: true, content: 'terms' },
  status: { kind: 'own form', required: true, content: 'state' },
  statusRaw: { kind: 'text', required: true, content: 'state' },
  certainty: { kind: 'text', required: true, content: 'state' },
  certaintyReason: { kind: 'text', content: 'state' },
  pendingAction: { kind: 'text', required: true, content: 'state' },
  quantity: { kind: 'decimal', required: true, content: 'terms' },
  price: { kind: 'decimal', content: 'terms' },
  stopPrice: { kind: 'decimal', content: 'terms' },
  working: { kind: 'own form', required: true, content: 'terms' },
  cumQty: { kind: 'decimal', required: true, content: 'filled' },
  leavesQty: { kind: 'decimal', required: true, content: 'filled' },
  avgPrice: { kind: 'decimal', content: 'filled' },
  expireTime: { kind: 'instant', content: 'expiry' },
  origin: { kind: 'own form', required: true, own: true },
  updatedAt: { kind: 'instant', required: true },
  clOrdId: { kind: 'text', content: 'references', register: 'revising' },
  clientOrderRef: { kind: 'text', content: 'references', register: 'revising' },
  venueOrderId: { kind: 'text', content: 'references', register: 'revising' },
  placedBy: { kind: 'text', content: 'references', register: 'remembered' },
  commandId: { kind: 'text', own: true },
  callerRef: { kind: 'text', own: true },
  sourceEpoch: { kind: 'natural', own: true },
  incarnation: { kind: 'natural', own: true },
  rejectReason: { kind: 'text', content: 'references', register: 'revising' },
  rejectText: { kind: 'text', content: 'references', register: 'revising' },
  createdAt: { kind: 'instant', content: 'history', register: 'remembered' },
  sentAt: { kind: 'instant', content: 'history', register: 'remembered' },
  firstAckAt: { kind: 'instant', content: 'history', register: 'remembered' },
  closedAt: { kind: 'instant', content: 'history', register: 'remembered' },
  conflict: { kind: 'text', own: true },
  extra: { kind: 'own form' },
} as const satisfies { readonly [K in keyof Required<Order>]: FieldRule };

type Table = typeof orderTable;

/** The fields whose rule has these values. */
export type FieldsWith<Rule> = { [K in keyof Table]: Table[K] extends Rule ? K : never }[keyof Table];

/** Fields that only we know. */
export type OwnFields = Pick<Order, FieldsWith<{ own: true }>>;

export type RegisterField = FieldsWith<{ register: string }> & keyof OrderView;

export function fieldsWhere(isWanted: (rule: FieldRule, field: keyof Order) => boolean): (keyof Order)[] {
  const fields = Object.keys(orderTable) as (keyof Order)[];
  return fields.filter((field) => isWanted(orderTable[field], field));
}
