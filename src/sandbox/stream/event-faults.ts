import type { Random } from '../../runtime/random.ts';
import { type ChangeList, present } from '../exchange/change-list.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { ExchangeOrder, Stream } from '../exchange/exchange-order.ts';
import type { VenueWords } from '../exchange/venue-words.ts';
import type { Concealments } from '../faults/concealments.ts';
import type { FaultPlan } from '../faults/fault-plan.ts';
import { cutWays, type GarbageKind, garbageKinds, type StreamFault } from '../faults/fault-shapes.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { rawFrame } from './client-message.ts';
import type { StreamSession } from './stream-session.ts';

const anEvent =
  '{"type":"event","timestamp":"2026-11-21T12:00:00.000000Z","payload":{"topic":"prediction","name":"prediction.order","target":"account:none","data":{"orderId":"none","version":1,"state":"new","cumQty":"0","updatedAt":"2026-11-21T12:00:00.000000Z"}}}';

const badVersions = ['9223372036854775808', '1.0', '1e3', '-1', 'null', '""', '"x"'];
const oversizeBytes = 64 * 1024 + 1;

/**
 * Frames that break one rule each: of JSON, the event's shape, UTF-8, WebSocket, or the limit of 64
 * KiB. If possible, a frame is a real event with one thing wrong, so that a reader can say which
 * order to ask after. No frame can be read as a state of the order: the platform is careless, not a
 * liar.
 */
function garbageOf(kind: GarbageKind, opcode: number, event: string = anEvent): Buffer {
  return makers[kind](event, (payload) => rawFrame(opcode, Buffer.from(payload)), opcode);
}

type Frame = (payload: string) => Buffer;

const makers: Readonly<Record<GarbageKind, (event: string, frame: Frame, opcode: number) => Buffer>> = {
  not_json: (_event, frame) => frame('order update follows'),
  truncated_json: (event, frame) => frame(event.slice(0, event.length >> 1)),
  html: (_event, frame) => frame('<html><body>Service temporarily unavailable</body></html>'),
  empty: (_event, frame) => frame(''),
  not_an_object: (_event, frame) => frame('[1,2,3]'),
  unknown_type: (_event, frame) => frame('{"type":"rebalance","payload":{}}'),
  no_payload: (_event, frame) => frame('{"type":"event","timestamp":"2026-11-21T12:00:00.000000Z"}'),
  null_data: (event, frame) => frame(event.replace(/"(data|order)":\{[^{]*\}(?=\}\}$)/, '"$1":null')),
  missing_field: (event, frame) => frame(event.replace(/"(state|ordStatus|status)":"[^"]*",/, '')),
  bad_version: (event, frame) => frame(withVersion(event)),
  bad_decimal: (event, frame) => frame(event.replace(/"(cumQty|filled_qty)":"[^"]*"/, '"$1":"1e9"')),
  bad_instant: (event, frame) =>
    frame(event.replace(/"(updatedAt|updated_at)":"[^"]*"/, '"$1":"2026-02-30T00:00:00Z"')),
  bad_utf8: (_event, _frame, opcode) => rawFrame(opcode, Buffer.from([0x7b, 0x22, 0xc3, 0x28, 0xff, 0x22, 0x7d])),
  binary: (event, _frame, opcode) => rawFrame(3 - opcode, Buffer.from(event)),
  oversize: (_event, frame) => frame(`"${'x'.repeat(oversizeBytes - 2)}"`),
  unfinished_fragments: (event, _frame, opcode) => unfinished(Buffer.from(event), opcode),
  reserved_bit: (event, _frame, opcode) => rawFrame(opcode, Buffer.from(event), { reserved: true }),
  ping_flood: () => Buffer.concat(Array.from({ length: 2000 }, () => rawFrame(9, Buffer.from('flood')))),
};

/** Another bad version each time, the choice made by the event itself. */
function withVersion(event: string): string {
  const version = badVersions[event.length % badVersions.length] ?? 'null';
  return event.replace(/"version":\d+/, `"version":${version}`);
}

/** A message with 65 fragments that never ends. */
function unfinished(payload: Buffer, opcode: number): Buffer {
  const parts = [rawFrame(opcode, payload.subarray(0, 8), { final: false })];
  for (let i = 0; i < 64; i += 1) parts.push(rawFrame(0, payload.subarray(8, 16), { final: false }));
  return Buffer.concat(parts);
}

interface Held {
  readonly text: string;
  readonly change: number;
  /** The number of events to overtake it before it is let go. */
  overtakenBy: number;
}

/** One event's fate on one connection. */
type EventResult = 'sent' | 'sent_twice' | 'held' | 'dropped' | 'silently_lost' | 'half_open' | 'cut' | 'hidden';

const longestHoldMs = 250;
/** A late acknowledgement comes after this. */
const lateAckMs = 3000;

/** What a venue does with one subscription. */
interface Subscribing {
  /** Says no. */
  readonly refuse: () => void;
  /** Leaves it without an answer. */
  readonly ignore: () => void;
  /** Acknowledges it, and puts it in force. */
  readonly follow: () => void;
}

interface EventFaultsDeps {
  readonly concealments: Concealments;
  readonly exchange: Exchange;
  readonly ledger: Ledger;
  readonly words: VenueWords;
  readonly plan: FaultPlan;
  readonly random: Random;
}

/**
 * An event's last step on its way to one connection. Faults meet it here.
 *
 * Invariant: at most one fault an event. A held event leaves after a few later events or 250 ms,
 * whichever is first, and never after the connection ended; the ledger says when (`released`).
 */
export class EventFaults {
  private readonly held = new Map<StreamSession, Held[]>();
  private readonly deps: EventFaultsDeps;

  constructor(deps: EventFaultsDeps) {
    this.deps = deps;
  }

  deliver(session: StreamSession, order: ExchangeOrder, text: string, change: number): EventResult {
    if (session.isHalfOpen) return 'half_open';
    if (!session.open) return 'cut';
    if (this.deps.concealments.hides(order)) return 'hidden';
    const { stream, account, orderId } = order.terms;
    const fault = this.deps.plan.forEvent({ stream, accountId: account.id, orderId });
    const result = fault === undefined ? this.send(session, text) : this.meet(fault, session, order, text, change);
    if (this.held.size > 0 && result !== 'held') this.overtake(session);
    return result;
  }

  /** Sends one frame that no client can make sense of, in the place of an event for `order`. */
  sendGarbage(session: StreamSession, order: ExchangeOrder | undefined, kind: GarbageKind): void {
    const event = order === undefined ? undefined : this.eventOf(order);
    session.sendRaw(garbageOf(kind, session.opcode, event));
    this.deps.ledger.enter('event', { session: session.number, result: 'garbage', garbage: kind });
  }

  /** Sends an event from an account that the connection's token does not name, if there is one. */
  sendForeign(session: StreamSession): void {
    this.sendShown(session, this.foreignOrder(), 'foreign');
  }

  /** Carries out a subscription, unless a fault meets it. */
  subscribe(session: StreamSession, stream: Stream, accountId: string, { refuse, ignore, follow }: Subscribing): void {
    const fault = this.deps.plan.forSubscribe({ stream, accountId });
    if (fault === 'refuse') refuse();
    else if (fault === 'no_ack') ignore();
    else if (fault === 'late_ack') session.later(lateAckMs, follow);
    else {
      // Whether the connection follows the account yet or not.
      if (fault === 'early_event') this.sendShown(session, this.anyOrder(stream, accountId), 'early');
      follow();
    }
  }

  private sendShown(session: StreamSession, order: ExchangeOrder | undefined, result: 'foreign' | 'early'): void {
    if (order === undefined) return;
    session.sendEvent(this.eventOf(order));
    this.deps.ledger.enter('event', { session: session.number, result, orderId: order.terms.orderId });
  }

  /** The account's order that has been unchanged for longest. */
  anyOrder(stream: Stream, accountId: string): ExchangeOrder | undefined {
    const account = this.deps.exchange.accounts.get(accountId);
    return account === undefined ? undefined : firstOf(this.deps.exchange.listOf(account, stream));
  }

  /** Lets everything go that was held back. */
  releaseAll(): void {
    for (const session of [...this.held.keys()]) this.letGo(session, () => true);
  }

  private meet(
    fault: StreamFault,
    session: StreamSession,
    order: ExchangeOrder,
    text: string,
    change: number,
  ): EventResult {
    switch (fault) {
      case 'duplicate':
        session.sendEvent(text);
        session.sendEvent(text);
        return 'sent_twice';
      case 'reorder':
        return this.hold(session, { text, change, overtakenBy: 1 + Math.floor(this.deps.random.next() * 5) });
      case 'drop':
        session.later(50 + this.deps.random.next() * 450, () => session.cut(this.deps.plan.pick(cutWays)));
        return 'dropped';
      case 'silent_loss':
        return 'silently_lost';
      case 'garbage':
        this.sendGarbage(session, order, this.deps.plan.pick(garbageKinds));
        return this.send(session, text);
      case 'foreign':
        this.sendForeign(session);
        return this.send(session, text);
      case 'cut':
        session.cut(this.deps.plan.pick(cutWays));
        return 'cut';
      case 'half_open':
        session.halfOpen();
        return 'half_open';
    }
  }

  private send(session: StreamSession, text: string): EventResult {
    session.sendEvent(text);
    return 'sent';
  }

  private hold(session: StreamSession, held: Held): EventResult {
    const queue = this.held.get(session) ?? [];
    queue.push(held);
    this.held.set(session, queue);
    session.later(longestHoldMs, () => this.letGo(session, (it) => it === held));
    return 'held';
  }

  private overtake(session: StreamSession): void {
    for (const it of this.held.get(session) ?? []) it.overtakenBy -= 1;
    this.letGo(session, (it) => it.overtakenBy <= 0);
  }

  private letGo(session: StreamSession, ripe: (held: Held) => boolean): void {
    const queue = this.held.get(session) ?? [];
    const left = queue.filter((it) => !ripe(it));
    for (const it of queue) if (ripe(it)) this.release(session, it);
    if (left.length === 0) this.held.delete(session);
    else this.held.set(session, left);
  }

  private release(session: StreamSession, held: Held): void {
    const result = session.open ? 'released' : 'dropped';
    session.sendEvent(held.text);
    this.deps.ledger.enter('event', { change: held.change, session: session.number, result });
  }

  /** Forgets a connection that has ended. */
  forget(session: StreamSession): void {
    this.letGo(session, () => true);
  }

  private eventOf(order: ExchangeOrder): string {
    return this.deps.words.event(order, this.deps.words.data(order), 'shown');
  }

  private foreignOrder(): ExchangeOrder | undefined {
    for (const account of this.deps.exchange.accounts.values()) {
      const order = account.traded
        ? undefined
        : (this.anyOrder('prediction', account.id) ?? this.anyOrder('account', account.id));
      if (order !== undefined) return order;
    }
    return undefined;
  }
}

function firstOf(list: ChangeList): ExchangeOrder | undefined {
  let first: ExchangeOrder | undefined;
  list.visit(0, present, (entry) => {
    first = entry.order;
    return false;
  });
  return first;
}
