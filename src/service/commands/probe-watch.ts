import { makesOrder } from '../../domain/command.ts';
import type { Timer } from '../../runtime/clock.ts';
import { type AccountLook, type CompleteLook, unclear } from '../sources/account-access.ts';
import type { AccountRead, AccountReads } from './account-reads.ts';
import type { CommandOptions } from './command-options.ts';
import type { CommandParts } from './command-parts.ts';
import type { NextProbe } from './commands.ts';
import { isFollowed, type Watched } from './watched.ts';

/** A complete read, with which commands are judged. */
export interface CompleteProbe {
  readonly look: CompleteLook;
  readonly by: 'reference' | 'order' | 'account';
  /** Monotonic. */
  readonly calledAtMs: number;
}

interface ProbeWatchDeps extends CommandParts {
  readonly reads: AccountReads;
  /** Judges these by the news that a complete read has brought into ingest. Never rejects. */
  readonly judge: (entries: readonly Watched[], probe: CompleteProbe) => Promise<void>;
}

/** The timer and the read of one command. */
interface Wait {
  timer: Timer | undefined;
  /** Its probe is under way, and arms the next one when it ends. */
  probing: boolean;
  /** The probe that is next, or under way. */
  plan: ProbePlan;
  /**
   * Ends the read that runs for this command alone. Made with the read: to abort costs 0.1 ms, and
   * most commands are resolved before their first one.
   */
  stop: AbortController | undefined;
}

/**
 * Probes commands without news, on a schedule by their age, and warns people when a command stays
 * unresolved for long.
 *
 * Invariant: a resolved command has no timer and no read: `forget` ends both, and a read ending
 * later does not judge it.
 */
export class ProbeWatch {
  private readonly waits = new Map<Watched, Wait>();
  private readonly accounts = new Map<string, Promise<AccountLook>>();
  private readonly deps: ProbeWatchDeps;
  private readonly options: CommandOptions;

  constructor(deps: ProbeWatchDeps, options: CommandOptions) {
    this.deps = deps;
    this.options = options;
  }

  /** Arms its next probe, if its state is one that is followed and none is armed. */
  follow(entry: Watched): void {
    const wait = this.waits.get(entry);
    if (!isFollowed(entry.command)) this.forget(entry);
    else if (wait === undefined || (wait.timer === undefined && !wait.probing)) this.arm(entry);
  }

  forget(entry: Watched): void {
    const wait = this.waits.get(entry);
    this.waits.delete(entry);
    wait?.timer?.cancel();
    wait?.stop?.abort();
  }

  /** Undefined: the platform is not asked about it. */
  nextProbe(entry: Watched): NextProbe | undefined {
    const plan = this.waits.get(entry)?.plan;
    if (plan === undefined) return undefined;
    const { clock } = this.deps;
    const direct = makesOrder(entry.command.request) ? 'reference' : 'order';
    const atMs = clock.nowMs() + Math.round(entry.sentAtMs + plan.atMs - clock.monotonicMs());
    return { atMs, by: plan.kind === 'account' ? 'account' : direct };
  }

  /**
   * Reads the account of this command now, within the budget, and judges all its commands of this
   * stream; one read at a time in a term, shared. Never rejects.
   */
  readAccountOf({ command: { request }, term }: Watched): Promise<AccountLook> {
    const { stream, accountId } = request;
    const key = `${stream}:${accountId}:${term.fence.epoch}`;
    const known = this.accounts.get(key);
    if (known !== undefined) return known;
    const work = this.deps.reads.read(stream, accountId, term).then((read) => this.judgeAccount(read, key));
    this.accounts.set(key, work);
    return work;
  }

  private arm(entry: Watched): void {
    const { clock } = this.deps;
    // In whole milliseconds: a timer that fires early by a rounding error must find its time
    // reached, or it would be armed for the same time again and again.
    const ageMs = Math.round(Math.max(0, clock.monotonicMs() - entry.sentAtMs));
    const probe = nextProbe(ageMs);
    const steps = [this.options.warnAfterMs, this.options.alarmAfterMs].filter((at) => at > ageMs);
    const dueMs = Math.min(probe.atMs, ...steps);
    const wait = this.waits.get(entry) ?? { timer: undefined, probing: false, plan: probe, stop: undefined };
    wait.plan = probe;
    this.waits.set(entry, wait);
    wait.timer?.cancel();
    wait.timer = clock.after(dueMs - ageMs, () => {
      wait.timer = undefined;
      this.escalate(entry, dueMs);
      if (dueMs < probe.atMs) this.arm(entry);
      else void this.probe(entry, probe.kind, wait);
    });
    this.escalate(entry, ageMs);
  }

  private async probe(entry: Watched, kind: ProbeKind, wait: Wait): Promise<void> {
    const stop = new AbortController();
    wait.stop = stop;
    wait.probing = true;
    const { reads } = this.deps;
    const look = kind === 'account' ? await this.readAccountOf(entry) : undefined;
    if (look === undefined) await this.probeDirectly(entry, stop.signal, (...read) => reads.direct(...read));
    // One order that can't be read must not leave the others of its account in doubt for good.
    else if (!look.complete && look.error === unclear)
      await this.probeDirectly(entry, stop.signal, (...read) => reads.inTurn(...read));
    wait.probing = false;
    if (!stop.signal.aborted) this.follow(entry);
  }

  private async probeDirectly(entry: Watched, stop: AbortSignal, run: AccountReads['direct']): Promise<void> {
    const { accounts, clock, judge } = this.deps;
    const { request, orderId, attempts } = entry.command;
    const { stream, accountId } = request;
    const calledAtMs = clock.monotonicMs();
    const byReference = makesOrder(request);
    const id = byReference ? attempts.at(-1)?.attemptId : orderId;
    if (id === undefined) return;
    const look = await run((signal, budget) => {
      const account = accounts.account(stream, accountId);
      return byReference ? account?.lookFor(id, signal, budget) : account?.lookAt(id, signal, budget);
    }, stop);
    if (!look?.complete || stop.aborted) return;
    await judge([entry], { look, by: byReference ? 'reference' : 'order', calledAtMs });
  }

  private async judgeAccount({ stream, accountId, look, calledAtMs }: AccountRead, key: string): Promise<AccountLook> {
    const { book, judge } = this.deps;
    const entries = [...book.ofAccount(accountId)].filter(
      ({ command }) => command.request.stream === stream && isFollowed(command),
    );
    if (look.complete) await judge(entries, { look, by: 'account', calledAtMs });
    this.accounts.delete(key);
    // An unclear read counts for none of them: each asks for itself.
    if (look.complete || look.error !== unclear) for (const entry of entries) this.rearm(entry);
    return look;
  }

  /**
   * This read was its probe: the next one counts from now. Its own probe, if still under way, arms
   * it when it ends: two at once would lose one `stop`.
   */
  private rearm(entry: Watched): void {
    const wait = this.waits.get(entry);
    if (!isFollowed(entry.command)) this.forget(entry);
    else if (wait !== undefined && !wait.probing) this.arm(entry);
  }

  private escalate(entry: Watched, ageMs: number): void {
    const { log, journal, clock } = this.deps;
    const { warnAfterMs, alarmAfterMs } = this.options;
    const { commandId, request, state, presumedAbsent } = entry.command;
    const level = ageMs >= alarmAfterMs ? 'alarmed' : ageMs >= warnAfterMs ? 'warned' : undefined;
    if (level === undefined || entry.warnings.has(level)) return;
    entry.warnings.add(level);
    const { kind, stream, accountId } = request;
    const fields = { commandId, kind, stream, accountId, state, presumedAbsent, ageSeconds: Math.round(ageMs / 1000) };
    if (level === 'warned') {
      log.warn(fields, 'a command has no result yet');
      return;
    }
    log.error(fields, 'a command still has no result; `tidemark command show` says what is known');
    const evidence = {
      kind: 'note',
      code: 'escalated',
      detail: { state, ageMs: Math.round(ageMs) },
      atMs: clock.nowMs(),
    } as const;
    journal.addEvidence(commandId, [evidence]).catch((err: unknown) => {
      log.warn({ err, commandId }, 'an escalation could not be recorded');
    });
  }
}

/**
 * Probes by reference, or for the one order: cheap, and a landed order shows within a second or two
 * (docs/commands.md, "How unknown is resolved").
 */
const directMs = [250, 500, 1_000, 2_000] as const;
/**
 * Probes by the account's one reader: each judges all the account's unresolved commands at once.
 */
const accountMs = [4_000, 8_000, 15_000, 30_000, 60_000, 120_000] as const;
const minute = 60_000;

type ProbeKind = 'direct' | 'account';

interface ProbePlan {
  readonly kind: ProbeKind;
  /** Age at which it is due: milliseconds since the last possible send. */
  readonly atMs: number;
}

/**
 * The first probe due after `ageMs`. It depends on the age only, so a restart or a skipped probe
 * keeps the same schedule. After two minutes, a tenth of the age passes between probes, at least
 * one minute, at most thirty.
 */
export function nextProbe(ageMs: number): ProbePlan {
  const direct = directMs.find((at) => at > ageMs);
  if (direct !== undefined) return { kind: 'direct', atMs: direct };
  const account = accountMs.find((at) => at > ageMs);
  if (account !== undefined) return { kind: 'account', atMs: account };
  return { kind: 'account', atMs: ageMs + Math.min(30 * minute, Math.max(minute, ageMs / 10)) };
}
