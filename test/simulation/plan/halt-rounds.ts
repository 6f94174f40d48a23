import type { Random } from '../../../src/runtime/random.ts';
import { happens, oneOf } from '../../../src/sandbox/market/instruments.ts';
import type { Halt } from '../../../src/store/commands/halts-journal.ts';
import type { SimulatedService } from '../simulated-service.ts';
import type { SimulatedWorld } from '../simulated-world.ts';
import { OperatorActions } from './operator-actions.ts';

/**
 * Of one round: many places at one process, and a halt at another one, which knows of it half a
 * second before the first.
 */
interface Round {
  readonly placing: SimulatedService;
  readonly accounts: readonly string[];
  readonly halting: SimulatedService;
  readonly scope: Halt['scope'];
}

/**
 * Round after round, with two processes that are drawn anew: places at a steady pace
 * at the one, a halt at the other at some moment between them, further places beside
 * its answer and behind it, and a resume. Whatever a process sends from what it
 * remembers is sent here, since places never end.
 */
export class HaltRounds {
  private round: Round | undefined;
  /** The mean time between two places. */
  private readonly everyMs: number;
  private readonly people: OperatorActions;
  private readonly world: SimulatedWorld;
  private readonly random: Random;

  constructor(world: SimulatedWorld, random: Random) {
    this.world = world;
    this.random = random;
    this.everyMs = oneOf(random, [20, 30, 50]);
    this.people = new OperatorActions(world, random, (what) => world.pastBreaches.push(what));
  }

  /** Until `goesOn` says no. */
  begin(goesOn: () => boolean): void {
    const { random } = this;
    this.after(random.next() * 1_000, () => this.nextRound(goesOn));
    const place = () => {
      if (!goesOn()) return;
      this.place();
      this.after(random.next() * this.everyMs * 2, place);
    };
    place();
  }

  private nextRound(goesOn: () => boolean): void {
    if (!goesOn()) return;
    const { random } = this;
    const round = this.drawRound();
    this.round = round;
    if (round === undefined) {
      this.after(500, () => this.nextRound(goesOn));
      return;
    }
    const haltAfterMs = 700 + random.next() * 1_000;
    const { halting, placing, scope } = round;
    this.after(haltAfterMs, () => this.people.haltAt(halting, scope));
    this.after(haltAfterMs + 2_000 + random.next() * 2_500, () => {
      this.people.resumeAt(placing, scope);
      this.nextRound(goesOn);
    });
  }

  private drawRound(): Round | undefined {
    const { world, random } = this;
    const running = world.services.filter(({ host, exitCode, stopping }) => {
      return !host.crashed && exitCode === undefined && !stopping;
    });
    const followed = ({ held }: SimulatedService) =>
      world.platform.accounts.map(({ id }) => id).filter((id) => held.follows(id));
    const holders = running.filter((service) => service.keeper.state === 'held' && followed(service).length > 0);
    if (holders.length === 0 || running.length < 2) return undefined;
    const placing = oneOf(random, holders);
    const accounts = followed(placing);
    const halting = oneOf(
      random,
      running.filter((service) => service !== placing),
    );
    if (happens(random, 0.6)) return { placing, accounts, halting, scope: { kind: 'service' } };
    const accountId = oneOf(random, accounts);
    return { placing, accounts: [accountId], halting, scope: { kind: 'account', accountId } };
  }

  private place(): void {
    if (this.round === undefined) return;
    const { placing, accounts } = this.round;
    this.world.callers.placeAt(placing, oneOf(this.random, accounts));
  }

  private after(delayMs: number, work: () => void): void {
    this.world.clock.after(delayMs, work);
  }
}
