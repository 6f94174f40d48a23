import type { AccountListDocument } from '../../../contract/account-answers.ts';
import type { ApprovalDocument, HaltChange, HaltDocument } from '../../../contract/halt-answers.ts';
import type { LimitLine } from '../../../contract/limit-bodies.ts';
import type { ExposureLine } from '../../../contract/rest-answers.ts';
import { accountsPolled } from '../account-rows.ts';
import type { ConsoleState } from '../console-state.ts';
import { Polled, polledAt } from '../polled.ts';
import { pause } from '../ports.ts';
import type { Answer, Page } from '../rest.ts';

interface ExposureNow extends Page<ExposureLine> {
  readonly atMs: number;
}

interface HaltsNow {
  readonly halts: readonly HaltDocument[];
}

const lookMs = 1_000;
const quickMs = 5_000;
const slowMs = 30_000;
/** Reading the exposure takes at most this share of the time: it goes through all open orders. */
const exposureShare = 0.1;

/**
 * Everything at risk and everything stopped. Exposure is read again after orders or commands
 * changed, at a bounded pace. Halts come live. They are read as well: a halt raised while the
 * database was away has no event yet.
 */
export class RiskWatch {
  readonly exposure: Polled<ExposureNow>;
  readonly halts: Polled<HaltsNow>;
  readonly approvals: Polled<Page<ApprovalDocument>>;
  readonly limits: Polled<Page<LimitLine>>;
  readonly accounts: Polled<AccountListDocument>;
  private readonly state: ConsoleState;
  private changed = true;
  private exposureTookMs = 0;
  /** Changes that came while the halts were read. */
  private early: HaltChange[] = [];

  constructor(state: ConsoleState) {
    this.state = state;
    const { ports } = state;
    this.exposure = new Polled(ports, {
      read: (signal) => this.readExposure(signal),
      everyMs: () => Math.max(quickMs, this.exposureTookMs / exposureShare),
    });
    this.halts = new Polled(ports, { read: (signal) => this.readHalts(signal), everyMs: () => quickMs });
    this.approvals = polledAt(state, '/v1/approvals', () => quickMs);
    this.limits = polledAt(state, '/v1/limits', () => quickMs);
    this.accounts = accountsPolled(state, slowMs);
  }

  /** Listens to the stream until `signal` aborts. */
  listen(signal: AbortSignal): void {
    const { updates, results, halts } = this.state;
    const changed = () => {
      this.changed = true;
    };
    updates.add(changed, signal);
    results.add(changed, signal);
    halts.add((halt) => this.takeHalt(halt), signal);
  }

  /** After an action: reads at once what it may have changed. */
  again(): void {
    this.changed = true;
    this.halts.again();
    this.approvals.again();
    this.limits.again();
  }

  private takeHalt(halt: HaltChange): void {
    this.early.push(halt);
    const { state } = this.halts;
    const { value, fault } = state.peek();
    if (value !== undefined) state.value = { value: withHalt(value, halt), fault };
  }

  private async readHalts(signal: AbortSignal): Promise<Answer<HaltsNow>> {
    this.early = [];
    const answer = await this.state.rest.get<HaltsNow>('/v1/halts', {}, signal);
    if (answer.kind !== 'ok') return answer;
    // The answer may be older than what came meanwhile.
    return { ...answer, body: this.early.reduce(withHalt, answer.body) };
  }

  private async readExposure(signal: AbortSignal): Promise<Answer<ExposureNow>> {
    const { ports, rest, session } = this.state;
    // Without the stream nothing announces a change.
    while (!this.changed && session.may('orders:read') && !signal.aborted) await pause(ports, lookMs, signal);
    this.changed = false;
    const startedMs = ports.monotonicMs();
    const answer = await rest.get<Page<ExposureLine>>('/v1/exposure', {}, signal);
    this.exposureTookMs = ports.monotonicMs() - startedMs;
    if (answer.kind === 'ok') return { ...answer, body: { items: answer.body.items, atMs: ports.nowMs() } };
    this.changed = true;
    return answer;
  }
}

function withHalt({ halts }: HaltsNow, halt: HaltChange): HaltsNow {
  const others = halts.filter(({ haltId }) => haltId !== halt.haltId);
  return { halts: halt.inForce ? [...others, halt] : others };
}
