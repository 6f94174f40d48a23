import type { Random } from '../../../src/runtime/random.ts';
import { happens } from '../../../src/sandbox/market/instruments.ts';
import type { SimulatedWorld } from '../simulated-world.ts';
import { MemoryPlatform } from '../world/memory-platform.ts';

const longestAwayMs = 20_000;

/**
 * A second venue, which every process follows beside the first one. Nobody sends commands there. In
 * half of the runs its accounts have the same ids. It is away for long, and often also while the
 * first one heals: that one must not wait for it.
 */
export class VenueBeside {
  readonly platform: MemoryPlatform;
  isAway = false;
  private readonly world: SimulatedWorld;
  private readonly random: Random;

  constructor(world: SimulatedWorld, deps: Omit<ConstructorParameters<typeof MemoryPlatform>[0], 'clock'>) {
    const { clock, plan } = world;
    this.world = world;
    this.random = deps.random;
    this.platform = new MemoryPlatform(
      { ...deps, clock },
      { ...plan.platform, named: happens(deps.random, 0.5) ? 'acct' : 'beside' },
    );
    this.platform.http.pageSize = plan.pageSize;
  }

  /** Until `goesOn` says no. */
  begin(goesOn: () => boolean): void {
    const { plan, clock } = this.world;
    const { platform, random } = this;
    platform.stream.faults = plan.stream;
    platform.http.faults = plan.reads;
    const change = () => {
      platform.step();
      if (goesOn()) clock.after(random.next() * plan.changeEveryMs * 4, change);
    };
    const leave = () => {
      if (!goesOn()) return;
      this.leave();
      clock.after(random.next() * longestAwayMs, () => {
        if (goesOn()) this.comeBack();
        if (goesOn()) clock.after(random.next() * longestAwayMs, leave);
      });
    };
    clock.after(0, change);
    clock.after(random.next() * plan.faultyMs, leave);
  }

  /** The first venue is well again. */
  heal(): void {
    this.platform.heal();
    this.isAway = false;
    if (happens(this.random, 0.5)) this.leave();
  }

  comeBack(): void {
    const { stream, http } = this.platform;
    stream.down = http.down = this.isAway = false;
    this.world.trace.add('beside', 'is back');
  }

  private leave(): void {
    const { stream, http } = this.platform;
    stream.down = http.down = this.isAway = true;
    stream.end({ kind: 'closed', code: 1001, reason: 'going away' }, happens(this.random, 0.5));
    this.world.trace.add('beside', 'is away');
  }
}
