import { readLines, truncationOf } from './prove-run.ts';

/** One write as the platform's ledger has it. */
export interface LedgerWrite {
  readonly kind: 'place' | 'replace' | 'cancel';
  /** The latest time that the ledger had shown by then: its clock may have been set back. */
  readonly atMs: number;
  /** Our reference, on a write that makes an order. */
  readonly reference?: string;
  /** The order that it made. */
  readonly madeId?: string;
  /** The order that a replace or a cancel names. */
  readonly orderId?: string;
  /** The new total that a replace asks for. */
  readonly quantity?: string;
  /**
   * Order entry's decisions: `accepted`, `rejected` (its order never lived), `refused`,
   * `not_applied`, `deferred`, `lapsed`.
   */
  readonly decisions: readonly string[];
}

export interface TrueOrder {
  readonly state: string;
  readonly closed: boolean;
  /** Its steps: `replace_accepted`, `canceled`, `fill` … */
  readonly steps: ReadonlySet<string>;
  /** Totals that amends made work. */
  readonly amendedTo: ReadonlySet<string>;
}

export interface CommandTruth {
  readonly writes: readonly LedgerWrite[];
  readonly orders: ReadonlyMap<string, TrueOrder>;
}

const kinds = { POST: 'place', PATCH: 'replace', DELETE: 'cancel' } as const;

/** A ledger line, with the members that are read here. */
interface LedgerLine {
  readonly seq: number;
  readonly at: string;
  readonly kind: string;
  readonly method: string;
  readonly url: string;
  readonly body: string;
  readonly request: number;
  readonly decision: string;
  readonly rejected?: boolean;
  readonly orderId: string;
  readonly step: string;
  readonly closed: boolean;
  readonly order: {
    readonly state?: string;
    readonly ordStatus?: string;
    /** Alpaca's word. */
    readonly status?: string;
    readonly workingQuantity?: string;
    readonly qty: string;
  };
}

/**
 * Every write that reached the platform, and every order's fate, by the platform's own ledger.
 * `control`: the sandbox's control port. Throws when the ledger's beginning was deleted: of a part
 * alone, every verdict could look right or wrong.
 */
export async function readCommandTruth(fetchUrl: typeof fetch, control: string): Promise<CommandTruth> {
  const decisions = new Map<number, string[]>();
  const made = new Map<number, string>();
  const requests: { readonly line: LedgerLine; readonly atMs: number }[] = [];
  let latestMs = Number.NEGATIVE_INFINITY;
  const orders = new Map<string, { steps: Set<string>; amendedTo: Set<string>; closed: boolean; state: string }>();
  for await (const text of readLines(fetchUrl, `${control}/ledger?kind=request,decision,change`)) {
    const truncated = truncationOf(text);
    if (truncated !== undefined) throw new Error(truncated);
    const line = JSON.parse(text) as LedgerLine;
    latestMs = Math.max(latestMs, Date.parse(line.at));
    if (line.kind === 'request' && line.method in kinds) requests.push({ line, atMs: latestMs });
    if (line.kind === 'decision')
      decisions.set(line.request, [
        ...(decisions.get(line.request) ?? []),
        line.rejected === true ? 'rejected' : line.decision,
      ]);
    if (line.kind === 'decision' && line.decision === 'accepted') made.set(line.request, line.orderId);
    if (line.kind !== 'change') continue;
    const order = orders.get(line.orderId) ?? { steps: new Set(), amendedTo: new Set(), closed: false, state: '' };
    orders.set(line.orderId, order);
    order.steps.add(line.step);
    order.closed = line.closed;
    order.state = line.order.state ?? line.order.status ?? String(line.order.ordStatus).toLowerCase();
    if (line.step === 'replace_accepted') order.amendedTo.add(line.order.workingQuantity ?? line.order.qty);
  }
  return { writes: requests.flatMap(({ line, atMs }) => writeOf(line, atMs, decisions, made)), orders };
}

function writeOf(
  line: LedgerLine,
  atMs: number,
  decisions: ReadonlyMap<number, readonly string[]>,
  made: ReadonlyMap<number, string>,
): LedgerWrite[] {
  const kind = kinds[line.method as keyof typeof kinds];
  const match = /^\/v[12]\/(?:predictions\/)?orders(?:\/([^/?]+))?(?:\?|$)/.exec(line.url);
  if (match === null) return [];
  const body = (line.body === '' ? {} : JSON.parse(line.body)) as Readonly<Record<string, string | undefined>>;
  const reference = body['clientId'] ?? body['clientOrderRef'] ?? body['client_order_id'];
  const orderId = match[1] === undefined ? undefined : decodeURIComponent(match[1]);
  const madeId = reference === undefined ? undefined : made.get(line.seq);
  return [
    {
      kind,
      atMs,
      decisions: decisions.get(line.seq) ?? [],
      ...(reference !== undefined && { reference }),
      ...(madeId !== undefined && { madeId }),
      ...(orderId !== undefined && { orderId }),
      ...(kind === 'replace' && body['quantity'] !== undefined ? { quantity: body['quantity'] } : {}),
    },
  ];
}
