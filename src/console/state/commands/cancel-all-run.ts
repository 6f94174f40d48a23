import { signal } from '@preact/signals-core';
import type { CommandResult } from '../../../../types/records.d.ts';
import type { CancelAllDocument } from '../../../contract/rest-answers.ts';
import type { Listeners } from '../listeners.ts';
import { isOpen } from '../orders/order-row.ts';
import type { OrderStore } from '../orders/order-store.ts';
import { pause } from '../ports.ts';
import { type Answer, type RestDeps, sentenceOf } from '../rest.ts';
import { KeyedSend } from './keyed-send.ts';

interface RunDeps extends RestDeps {
  readonly orders: OrderStore;
  readonly results: Listeners<CommandResult>;
}

interface CancelAllWish {
  /** Undefined: all accounts. */
  readonly accountId: string | undefined;
  readonly body: Readonly<Record<string, string>>;
}

type SweptOrder = CancelAllDocument['orders'][number];
type SweptState = 'done' | 'under way' | 'not cancelled';

/** One order in a cancel-all as it stands now. */
export interface SweptLine {
  readonly order: SweptOrder;
  readonly state: SweptState;
  /** The state of its cancel, or the code for the lack of one. */
  readonly word: string;
  readonly why: string | undefined;
  /** How its order ended, if known here. */
  readonly status: string | undefined;
}

const askAgainMs = 3_000;
const askRarelyMs = 15_000;

/**
 * One cancel-all under one key. Its answer lists the open orders; afterwards the steps of its
 * command and the order itself follow each cancel. While cancels are missing, or it stays in force,
 * the same request asks how far it is: that cancels nothing else.
 */
export class CancelAllRun {
  readonly wish: CancelAllWish;
  readonly atMs: number;
  readonly answer = signal<CancelAllDocument>();
  /** Why the newest request had no good answer. */
  readonly fault = signal<string>();
  /** Rises when a line may have changed. */
  readonly steps = signal(0);
  private readonly results = new Map<string, CommandResult>();
  private readonly deps: RunDeps;
  private readonly keyed: KeyedSend<CancelAllDocument>;

  constructor(deps: RunDeps, wish: CancelAllWish) {
    this.deps = deps;
    this.wish = wish;
    this.atMs = deps.ports.nowMs();
    this.keyed = new KeyedSend(deps);
  }

  /** Sends it, or asks how far it is. */
  async ask(): Promise<Answer<CancelAllDocument>> {
    const { accountId, body } = this.wish;
    const path =
      accountId === undefined ? '/v1/cancel-all' : `/v1/accounts/${encodeURIComponent(accountId)}/cancel-all`;
    const answer = await this.keyed.send('POST', path, { body });
    if (answer.kind === 'ok') {
      // It is newer than the steps that were followed: some may have come while nothing followed.
      this.results.clear();
      this.answer.value = answer.body;
    }
    this.fault.value = answer.kind === 'ok' ? undefined : sentenceOf(answer);
    return answer;
  }

  /** Follows it until nothing is open any more, or `signal` aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    this.deps.results.add((result) => this.takeResult(result), signal);
    this.deps.orders.changes.add(() => this.changed(), signal);
    while (!signal.aborted) {
      const answer = this.answer.peek();
      const isOver = answer !== undefined && !answer.open && !answer.inForce;
      if (isOver && this.lines().every(({ state }) => state !== 'under way')) return;
      const isMissing = answer === undefined || answer.orders.some(({ code }) => code === 'UNDER_WAY');
      await pause(this.deps.ports, isMissing ? askAgainMs : askRarelyMs, signal);
      if (!signal.aborted) await this.ask();
    }
  }

  /** Each order, those for a person first. */
  lines(): readonly SweptLine[] {
    const rank: Readonly<Record<SweptState, number>> = { 'not cancelled': 0, 'under way': 1, done: 2 };
    const lines = this.swept().map((order) => this.lineOf(order));
    return lines.sort((a, b) => rank[a.state] - rank[b.state]);
  }

  /** Its orders, and those of places that have landed since. */
  private swept(): SweptOrder[] {
    const { orders = [], places = [] } = this.answer.peek() ?? {};
    const landed = places.flatMap(({ accountId, stream, orderId, cancel }) =>
      orderId === undefined ? [] : [{ accountId, stream, orderId, ...cancel }],
    );
    return [...orders, ...landed];
  }

  private lineOf(order: SweptOrder): SweptLine {
    const row = this.deps.orders.rows.get(`${order.stream}:${order.orderId}`);
    const newest = order.commandId === undefined ? undefined : this.results.get(order.commandId);
    const word = newest?.state ?? order.state ?? order.code ?? 'UNDER_WAY';
    // However it ended: an order filled meanwhile is not open any more either.
    const isOver = (row !== undefined && !isOpen(row.order)) || ['applied', 'moot'].includes(word);
    const status = row !== undefined && isOver ? row.order.status : undefined;
    // A cancel without an answer yet has words for callers, who have to ask again; this page does.
    const why = newest?.reason?.message ?? (word === 'UNDER_WAY' ? undefined : order.detail);
    return { order, word, why, status, state: isOver ? 'done' : stateOf(word) };
  }

  private takeResult(result: CommandResult): void {
    const { commandId, version } = result;
    const known = this.results.get(commandId);
    if (result.kind !== 'cancel' || (known !== undefined && known.version >= version)) return;
    if (!this.swept().some((order) => order.commandId === commandId)) return;
    this.results.set(commandId, result);
    this.changed();
  }

  private changed(): void {
    this.steps.value += 1;
  }
}

function stateOf(word: string): SweptState {
  return ['open', 'accepted', 'unknown', 'UNDER_WAY'].includes(word) ? 'under way' : 'not cancelled';
}
