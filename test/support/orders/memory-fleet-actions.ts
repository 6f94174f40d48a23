import type { FleetActions, FleetWord } from '../../../src/store/fleet/fleet-actions.ts';

/**
 * The wishes of operators in memory, for a fleet of one process with the name `one`, and one shard.
 */
export class MemoryFleetActions implements FleetActions {
  readonly wishes: { readonly what: string; readonly word: FleetWord }[] = [];

  async drain(instance: string, drained: boolean, word: FleetWord): Promise<boolean> {
    if (instance !== 'one') return false;
    this.wishes.push({ what: `${drained ? 'drain' : 'undrain'} ${instance}`, word });
    return true;
  }

  async pin(shard: number, pinned: boolean, word: FleetWord): Promise<boolean> {
    if (shard !== 0) return false;
    this.wishes.push({ what: `${pinned ? 'pin' : 'unpin'} ${shard}`, word });
    return true;
  }
}
