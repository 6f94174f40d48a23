import type { z } from 'zod';
import type { Random } from '../../runtime/random.ts';
import {
  type Application,
  applicationsOf,
  type DurationRange,
  type FaultRule,
  type faultOrder,
  type OrderFault,
  orderFaults,
  type RequestFault,
  requestFaults,
  type StreamFault,
  type SubscribeFault,
  streamFaults,
  type UpgradeFault,
  type WriteFault,
  writeFaults,
} from './fault-shapes.ts';

interface ActiveRule {
  readonly rule: FaultRule;
  skip: number;
  times: number;
}

/** The conditions to match an event, a request or a subscription. */
interface FaultPlace {
  readonly stream?: string;
  readonly accountId?: string;
  readonly orderId?: string;
  readonly method?: string;
  readonly path?: string;
  readonly write?: string;
  readonly reference?: string | undefined;
}

/** One order entry write's faults. */
export interface MetWriteFault {
  readonly fault: WriteFault;
  readonly applied: Application;
  readonly delayMs: number;
  /** The end of a torn answer; half of it when undefined. */
  readonly at: number | undefined;
}

/** One new order's faults, and for how long. */
interface MetOrderFault {
  readonly fault: OrderFault;
  readonly forMs: number;
}

type SetFaults = Pick<
  z.output<typeof faultOrder>,
  'stream' | 'requests' | 'writes' | 'orders' | 'lagMs' | 'lateMs' | 'concealMs'
>;

interface FaultTimes {
  readonly lagMs: number;
  readonly lateMs: DurationRange;
  readonly concealMs: DurationRange;
}

const usualTimes: FaultTimes = { lagMs: 2000, lateMs: 1000, concealMs: 5000 };

/**
 * The active faults: rules for the next matches, and rates drawn from a seed of their own, so that
 * faults don't change the market's moves.
 *
 * States: quiet (no rule, no rate; costs nothing) ⇄ faulty. `heal` makes it quiet at once.
 */
export class FaultPlan {
  private rules: ActiveRule[] = [];
  private readonly rates = {
    stream: new Map<StreamFault, number>(),
    requests: new Map<RequestFault, number>(),
    writes: new Map<WriteFault, number>(),
    orders: new Map<OrderFault, number>(),
  };
  private times: FaultTimes = usualTimes;
  private readonly random: Random;

  constructor(random: Random) {
    this.random = random;
  }

  get lagMs(): number {
    return this.times.lagMs;
  }

  /** Lists may have to show the past: the exchange has to keep it. */
  get mayLag(): boolean {
    return (this.rates.requests.get('lag') ?? 0) > 0 || this.rules.some(({ rule }) => rule.fault === 'lag');
  }

  /** Merges rates by name; 0 takes one away. */
  set({ stream, requests, writes, orders, lagMs, lateMs, concealMs }: SetFaults): void {
    merge(this.rates.stream, stream, streamFaults);
    merge(this.rates.requests, requests, requestFaults);
    merge(this.rates.writes, writes, writeFaults);
    merge(this.rates.orders, orders, orderFaults);
    const { times } = this;
    this.times = {
      lagMs: lagMs ?? times.lagMs,
      lateMs: lateMs ?? times.lateMs,
      concealMs: concealMs ?? times.concealMs,
    };
  }

  addRule(rule: FaultRule): void {
    this.rules.push({ rule, skip: rule.skip, times: rule.times });
  }

  heal(): void {
    this.rules = [];
    for (const rates of Object.values(this.rates)) rates.clear();
    this.times = usualTimes;
  }

  forEvent(place: FaultPlace): StreamFault | undefined {
    if (this.rules.length === 0 && this.rates.stream.size === 0) return undefined;
    return (this.ruled('event', place) as StreamFault | undefined) ?? this.drawn(this.rates.stream);
  }

  /** `drawable` requests are also subject to the rates. */
  forRequest(place: FaultPlace, drawable: boolean): RequestFault | undefined {
    const ruled = this.ruled('request', place) as RequestFault | undefined;
    return ruled ?? (drawable ? this.drawn(this.rates.requests) : undefined);
  }

  /**
   * A write that order entry understood. Only the rule's own word or a draw decides whether it is
   * done.
   */
  forWrite(place: FaultPlace): MetWriteFault | undefined {
    const rule = this.matching('write', place);
    if (rule?.on === 'write')
      return {
        fault: rule.fault,
        applied: rule.applied ?? usual(rule.fault),
        delayMs: this.draw(rule.delayMs),
        at: rule.at,
      };
    const fault = this.drawn(this.rates.writes);
    if (fault === undefined) return undefined;
    return { fault, applied: this.pick(applicationsOf[fault]), delayMs: this.draw(this.times.lateMs), at: undefined };
  }

  /** An order just placed through order entry. */
  forOrder(place: FaultPlace): MetOrderFault | undefined {
    const rule = this.matching('order', place);
    if (rule?.on === 'order') return { fault: rule.fault, forMs: this.draw(rule.forMs) };
    const fault = this.drawn(this.rates.orders);
    return fault === undefined ? undefined : { fault, forMs: this.draw(this.times.concealMs) };
  }

  forUpgrade(): UpgradeFault | undefined {
    return this.ruled('upgrade', {}) as UpgradeFault | undefined;
  }

  forSubscribe(place: FaultPlace): SubscribeFault | undefined {
    return this.ruled('subscribe', place) as SubscribeFault | undefined;
  }

  /** For `GET /faults`. */
  describe(): object {
    return {
      stream: Object.fromEntries(this.rates.stream),
      requests: Object.fromEntries(this.rates.requests),
      writes: Object.fromEntries(this.rates.writes),
      orders: Object.fromEntries(this.rates.orders),
      ...this.times,
      rules: this.rules.map(({ rule, skip, times }) => ({ ...rule, skip, times })),
    };
  }

  /** A draw among faults' choices: how to cut, which garbage. */
  pick<T>(choices: readonly T[]): T {
    return choices[Math.floor(this.random.next() * choices.length)] as T;
  }

  /** Only a range costs a draw, so that scripts with fixed times keep their story. */
  private draw(range: DurationRange): number {
    if (typeof range === 'number') return range;
    return range[0] + Math.floor(this.random.next() * (range[1] - range[0] + 1));
  }

  private ruled(on: FaultRule['on'], place: FaultPlace): string | undefined {
    return this.matching(on, place)?.fault;
  }

  private matching(on: FaultRule['on'], place: FaultPlace): FaultRule | undefined {
    for (const [index, active] of this.rules.entries()) {
      if (active.rule.on !== on || !fits(active.rule, place)) continue;
      if (active.skip > 0) {
        active.skip -= 1;
        continue;
      }
      active.times -= 1;
      if (active.times === 0) this.rules.splice(index, 1);
      return active.rule;
    }
    return undefined;
  }

  /** One draw against the sum of the rates, so that at most one fault meets one event. */
  private drawn<T>(rates: ReadonlyMap<T, number>): T | undefined {
    if (rates.size === 0) return undefined;
    let draw = this.random.next();
    for (const [fault, rate] of rates) {
      draw -= rate;
      if (draw < 0) return fault;
    }
    return undefined;
  }
}

function merge<T extends string>(
  rates: Map<T, number>,
  given: Partial<Record<T, number | undefined>> = {},
  names: readonly T[],
): void {
  for (const name of names) {
    const rate = given[name];
    if (rate === undefined) continue;
    if (rate === 0) rates.delete(name);
    else rates.set(name, rate);
  }
}

function usual(fault: WriteFault): Application {
  return applicationsOf[fault][0] ?? 'no';
}

function fits(rule: FaultRule, place: FaultPlace): boolean {
  if (rule.on === 'upgrade') return true;
  if (rule.on === 'request')
    return (
      (rule.method === undefined || rule.method === place.method) &&
      (rule.path === undefined || (place.path ?? '').startsWith(rule.path))
    );
  return (
    (rule.stream === undefined || rule.stream === place.stream) &&
    (rule.accountId === undefined || rule.accountId === place.accountId) &&
    (rule.on !== 'event' || rule.orderId === undefined || rule.orderId === place.orderId) &&
    (rule.on !== 'write' || rule.write === undefined || rule.write === place.write) &&
    ((rule.on !== 'write' && rule.on !== 'order') || rule.reference === undefined || rule.reference === place.reference)
  );
}
