import type { Random } from '../../../src/runtime/random.ts';
import { happens, oneOf } from '../../../src/sandbox/market/instruments.ts';
import type { SimulatedService } from '../simulated-service.ts';
import type { Trace } from '../trace.ts';
import type { MemoryDatabase } from '../world/memory-database.ts';

interface FleetOperatorDeps {
  readonly database: MemoryDatabase;
  readonly trace: Trace;
  readonly random: Random;
  readonly services: () => readonly SimulatedService[];
}

/**
 * A person who drains processes and undrains them, pins shards and unpins them, and makes processes
 * sick and well, without a look at what the fleet is doing.
 */
export class FleetOperator {
  private readonly deps: FleetOperatorDeps;

  constructor(deps: FleetOperatorDeps) {
    this.deps = deps;
  }

  act(): void {
    const { random } = this.deps;
    if (happens(random, 0.4)) this.pin();
    else if (happens(random, 0.5)) this.drain();
    else this.sicken();
  }

  private pin(): void {
    const { database, trace, random } = this.deps;
    const assignment = oneOf(random, database.shards.rows);
    assignment.pinned = !assignment.pinned;
    trace.add('operator', assignment.pinned ? 'pins' : 'unpins', `shard ${assignment.shard}`);
  }

  private sicken(): void {
    const { services, trace, random } = this.deps;
    const all = services();
    if (all.length === 0) return;
    const service = oneOf(random, all);
    service.sick = !service.sick;
    trace.add('operator', service.sick ? 'sickens' : 'heals', service.host.name);
  }

  private drain(): void {
    const { database, trace, random } = this.deps;
    const held = [...database.lanes].filter(([, { holder }]) => holder !== undefined && !holder.includes('/'));
    if (held.length === 0) return;
    const [lane, row] = oneOf(random, held);
    row.drained = !row.drained;
    trace.add('operator', row.drained ? 'drains' : 'undrains', `${row.holder} of lane ${lane}`);
  }

  /** From now on this process takes shards: one has to. */
  keep(service: SimulatedService | undefined): void {
    if (service === undefined) return;
    service.sick = false;
    for (const row of this.deps.database.lanes.values()) if (row.holder === service.host.name) row.drained = false;
  }
}
