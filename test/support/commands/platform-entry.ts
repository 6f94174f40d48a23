import { VenueOrderEntry } from '../../../src/service/run/order-entry.ts';
import { type WriteAddresses, writeOrder } from '../../../src/venue/platform/order-writes.ts';

type Deps = ConstructorParameters<typeof VenueOrderEntry>[0];

/** The order entry of the platform, as the service has it. */
export function platformEntry(deps: Deps, addresses: WriteAddresses): VenueOrderEntry<WriteAddresses> {
  return new VenueOrderEntry(deps, addresses, writeOrder);
}
