import type { ClockAndLogger } from '../../observability/ambient.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Lease } from '../../runtime/lease.ts';
import type { Service } from '../../runtime/supervisor.ts';
import { Wakeup } from '../../runtime/waiting.ts';
import type { FoundLoss, LaneHold, LaneStore } from '../../store/fleet/lane-store.ts';
import type { LaneControl, LossReason } from '../orders/ingest-deps.ts';
import { LaneRecord, type LaneView } from './lane-record.ts';
import { acts, type LaneEvent, type LaneState, laneTransition, shownAs } from './lane-states.ts';

/** The parts that work only while the lane is held. */
export interface LaneWork {
  /** The lane is ours. Rejects only when it can't work at all; the lane is then given back. */
  begin(hold: LaneHold): Promise<void>;
  /**
   * The lane belongs to another process, or is about to be given
   * back: stop at once, nothing more may leave.
   */
  end(): Promise<void>;
}

interface LaneKeeperDeps extends ClockAndLogger {
  readonly store: LaneStore;
  readonly lease: Lease;
  readonly work: LaneWork;
  /** The lane to ask for now: a free one, or one without a live holder. Left out: the lease's. */
  readonly pickLane?: () => Promise<number>;
  /**
   * Rejects while the work could not begin at all: a free lane is then left to others. Asked
   * before each taking; left out: the work can always begin.
   */
  readonly assertCanBegin?: () => Promise<void>;
  readonly metrics: Metrics['ingest'];
}

interface LaneKeeperOptions {
  /** Names this process in the lane's row. */
  readonly holder: string;
  readonly renewEveryMs: number;
  readonly expireAfterMs: number;
  /** How often a standby checks whether the lane is free. */
  readonly acquireEveryMs: number;
}

/** Why a term is over. */
type TermEnd = LossReason | 'renewal_refused' | 'change' | 'not_begun';

/**
 * Holds the lane, or stands by for it. `lane-states.ts` has its states and events, their table and
 * its invariants; `go` is the only line to change the state. Apart from it is the process's drain:
 * the loop ends, whatever the state is.
 *
 * Renewals and reclaims never overlap (`inTurn`): after our own reclaim has raised the epoch, a
 * renewal under the one before would look like a loss.
 */
export class LaneKeeper implements Service, LaneControl {
  readonly name = 'lane-keeper';
  private current: { readonly name: LaneState; readonly why?: TermEnd | undefined } = { name: 'standby' };
  private readonly record: LaneRecord;
  private stopping = false;
  private failing = false;
  private readonly wakeup = new Wakeup();
  private serial: Promise<unknown> = Promise.resolve();
  private running: Promise<void> = Promise.resolve();
  private readonly deps: LaneKeeperDeps;
  private readonly options: LaneKeeperOptions;

  constructor(deps: LaneKeeperDeps, options: LaneKeeperOptions) {
    this.deps = deps;
    this.options = options;
    this.record = new LaneRecord(deps);
  }

  get state(): (typeof shownAs)[LaneState] {
    return shownAs[this.current.name];
  }

  /** The lane's holder at our last look, while standing by. */
  get otherHolder(): string | undefined {
    return this.state === 'standby' ? this.record.view.holder : undefined;
  }

  /** The knowledge of this process about the lane and its own part in it. */
  get view(): LaneView {
    return this.record.view;
  }

  async start(): Promise<void> {
    this.running = this.run();
  }

  /** Gives the lane back. The work has been drained by then, or is ended here. */
  async drain(_signal: AbortSignal): Promise<void> {
    this.stopping = true;
    this.wakeup.wake();
    await this.running;
    if (this.state === 'held') {
      await this.lookOnceMore();
      await this.giveBack();
    }
    this.go('stopped');
  }

  async reclaim(): Promise<LaneHold | undefined> {
    return this.inTurn(async () => {
      const sentAtMs = this.deps.clock.monotonicMs();
      const hold = await this.deps.store.reclaim(this.deps.lease.lane, this.deps.lease.epoch);
      if (hold !== undefined) this.confirm(hold.epoch, sentAtMs);
      else this.record.refused('reclaim');
      return hold;
    });
  }

  reportLost(why: LossReason): void {
    if (why === 'batch_refused') this.record.refused('batch');
    this.go('lost', why);
    this.wakeup.wake();
  }

  /** Gives the lane back and takes another one, as `pickLane` says. */
  change(): void {
    this.go('change', 'change');
    this.wakeup.wake();
  }

  /**
   * The database lacks commits, as another part found: a generation has begun
   * under which the lane must be taken again.
   */
  reportLoss(loss: FoundLoss): void {
    this.foundLoss(loss);
    this.reportLost('forgotten');
  }

  private async run(): Promise<void> {
    while (!this.stopping) {
      try {
        if (this.state === 'standby') await this.tryToAcquire();
        else await this.keep();
        if (this.failing) this.deps.log.info({ state: this.state }, 'the lane can be asked for again');
        this.failing = false;
      } catch (error) {
        this.notAsked(error);
      }
      if (this.stopping) return;
      await this.rest(this.state === 'held' ? this.options.renewEveryMs : this.options.acquireEveryMs);
    }
  }

  private async tryToAcquire(): Promise<void> {
    const { store, clock, log, lease, pickLane, assertCanBegin } = this.deps;
    const { holder, expireAfterMs } = this.options;
    await assertCanBegin?.();
    if (pickLane !== undefined) lease.enter(await pickLane());
    const sentAtMs = clock.monotonicMs();
    const { lane, checkpoint } = lease;
    const answer = await store.acquire(lane, holder, expireAfterMs, checkpoint.newest);
    if (answer.foundLoss !== undefined) this.foundLoss(answer.foundLoss);
    checkpoint.sawLane(answer);
    if (answer.kind === 'busy') {
      if (this.otherHolder !== answer.holder)
        log.info({ lane, holder: answer.holder }, 'another process holds the lane; standing by');
      this.record.busy(answer.holder, answer.epoch);
      return;
    }
    if (this.stopping) {
      // Asked to stop while the answer was on its way: the work would
      // connect everything only to end it again.
      await store.release(lane, answer.epoch);
      return;
    }
    const { epoch, batch, takeover } = answer;
    this.record.taken(holder, epoch, takeover);
    lease.take(epoch, sentAtMs);
    this.go('taken');
    this.confirm(epoch, sentAtMs);
    log.info({ lane, holder, epoch: epoch.toString(), batch: batch.toString(), ...takeover }, 'the lane is ours');
    try {
      await this.beginWork(answer);
      this.go('begun', this.current.why);
    } catch (error) {
      this.go('not_begun', 'not_begun');
      await this.giveBack();
      throw error;
    }
    // The answer took so long that the next renewal cannot wait for its usual rest: meanwhile the
    // lease would allow no action.
    if (2 * (clock.monotonicMs() - sentAtMs) > this.options.renewEveryMs) await this.keep();
  }

  /**
   * Before it has begun, the work reads from database and platform, perhaps for longer than a lane
   * is left to a holder without renewals: two processes, each slow to begin, would take it from
   * each other for ever.
   */
  private async beginWork(hold: LaneHold): Promise<void> {
    const begun = new AbortController();
    const renewing = this.renewUntil(begun.signal);
    try {
      await this.deps.work.begin(hold);
    } finally {
      begun.abort();
      await renewing;
    }
  }

  /**
   * If the lane is lost meanwhile, nothing may act from that
   * moment on; the work ends once it has begun.
   */
  private async renewUntil(begun: AbortSignal): Promise<void> {
    const { clock } = this.deps;
    for (;;) {
      await clock.sleep(this.options.renewEveryMs, begun);
      if (begun.aborted || this.current.name !== 'beginning') return;
      try {
        await this.inTurn(() => this.renew());
      } catch (error) {
        this.notAsked(error);
      }
    }
  }

  private async keep(): Promise<void> {
    if (this.current.name === 'held' && (await this.inTurn(() => this.renew()))) return;
    const { why } = this.current;
    const { lane } = this.deps.lease;
    if (why === 'change') {
      await this.giveBack();
      return;
    }
    if (why === 'forgotten') this.deps.log.error({ lane }, 'the database lacks commits of this term; the term ends');
    else
      this.deps.log.warn(
        { lane, why },
        'the lane has another epoch: it was taken by another process, or the database lost ours; standing by',
      );
    await this.stopWork();
  }

  private async stopWork(): Promise<void> {
    this.go('ends');
    try {
      await this.deps.work.end();
    } finally {
      this.go('ended');
    }
  }

  /** Changes the state. `why`: kept until the work has ended. */
  private go(event: LaneEvent, why?: TermEnd): void {
    const from = this.current.name;
    const to = laneTransition(from, event);
    if (to === 'impossible') this.deps.log.error({ state: from, event }, 'an event came in a wrong state');
    if (to === 'ignored' || to === 'impossible') return;
    this.current = { name: to, why };
    if (!acts(from) || acts(to)) return;
    this.deps.lease.lose();
    this.record.lost();
  }

  /**
   * No write from us may come when the row is free: the work ends first, and only then is our epoch
   * in the row known.
   */
  private async giveBack(): Promise<void> {
    await this.stopWork();
    const { store, lease } = this.deps;
    await this.inTurn(() => store.release(lease.lane, lease.epoch)).catch((error: unknown) => {
      this.deps.log.warn(
        { err: error },
        'the lane could not be given back; a standby has to wait until the lease expires',
      );
    });
  }

  /**
   * If the database lost commits while this process drained, it may be the last to know them: the
   * generation begins before the lane is free.
   */
  private async lookOnceMore(): Promise<void> {
    const { store, lease } = this.deps;
    const { holder, expireAfterMs } = this.options;
    const { lane } = lease;
    try {
      if ((await this.inTurn(() => this.renew())) || this.current.why !== 'forgotten') return;
      const answer = await store.acquire(lane, holder, expireAfterMs, lease.checkpoint.newest);
      if (answer.foundLoss !== undefined) this.foundLoss(answer.foundLoss);
      if (answer.kind === 'held') await store.release(lane, answer.epoch);
    } catch (error) {
      this.notAsked(error);
    }
  }

  private async renew(): Promise<boolean> {
    const { store, clock, lease } = this.deps;
    const sentAtMs = clock.monotonicMs();
    const { epoch, checkpoint } = lease;
    const { newest } = checkpoint;
    const answer = await store.renew(lease.lane, epoch, newest);
    if (answer === 'renewed') {
      checkpoint.compared(newest?.acts ?? []);
      this.confirm(epoch, sentAtMs);
      return true;
    }
    if (answer === 'refused') this.record.refused('renewal');
    this.go('lost', answer === 'refused' ? 'renewal_refused' : 'forgotten');
    return false;
  }

  private foundLoss({ generation }: FoundLoss): void {
    const { log, metrics } = this.deps;
    metrics.commitsLost.inc();
    log.error(
      { lane: this.deps.lease.lane, generation },
      'the database came back without commits that it had acknowledged: a new generation has begun, and placing is halted. See docs/runbooks/CommitsLost.md',
    );
  }

  private confirm(epoch: bigint, sentAtMs: number): void {
    const { lease } = this.deps;
    lease.checkpoint.sawEpoch(epoch);
    lease.confirm(epoch, sentAtMs);
    // The answer to a reclaim may come when the term is over. Its epoch is the one under which the
    // lane is given back, and gives no right to act.
    if (acts(this.current.name)) this.record.confirmed(epoch);
    else lease.lose();
  }

  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.serial.then(work);
    this.serial = result.catch(() => undefined);
    return result;
  }

  /** One line when the database begins to fail. */
  private notAsked(error: unknown): void {
    if (!this.failing)
      this.deps.log.warn({ err: error, state: this.state }, 'the lane could not be asked for; trying again');
    this.failing = true;
  }

  private async rest(delayMs: number): Promise<void> {
    const timer = this.deps.clock.after(delayMs, () => this.wakeup.wake());
    await this.wakeup.wait();
    timer.cancel();
  }
}
