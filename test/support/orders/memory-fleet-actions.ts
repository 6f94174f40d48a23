import type { PersonsWord } from '../../../src/store/commands/read-audit-trail.ts';
import type { FleetActions } from '../../../src/store/fleet/fleet-actions.ts';

/**
 * The wishes of operators in memory, for a fleet of one process with the name `one`, and one shard.
 */
export class MemoryFleetActions implements FleetActions {
  readonly wishes: { readonly what: string; readonly word: PersonsWord }[] = [];

  async drain(instance: string, drained: boolean, word: PersonsWord): Promise<boolean> {
    if (instance !== 'one') return false;
    this.wishes.push({ what: `${drained ? 'drain' : 'undrain'} ${instance}`, word });
    return true;
  }

  async pin(shard: number, pinned: boolean, word: PersonsWord): Promise<boolean> {
    if (shard !== 0) return false;
    this.wishes.push({ what: `${pinned ? 'pin' : 'unpin'} ${shard}`, word });
    return true;
  }
}
