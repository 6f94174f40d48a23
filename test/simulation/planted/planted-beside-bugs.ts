import type { Connectors } from '../../../src/service/sources/connectors.ts';
import { VenueSources } from '../../../src/service/sources/venue-sources.ts';
import type { PlantedBug } from './planted-bug.ts';
import { instead, replaced } from './replaced.ts';

type Several = { readonly venues: readonly Connectors[] };

/** Mistakes that show where two venues are followed beside each other. */
export const plantedBesideBugs: readonly PlantedBug[] = [
  {
    name: 'the sources of the first venue alone end with the lane',
    seeds: 'beside',
    shows: /connections are left open|leaves \d+ timers behind|is followed by/,
    plant: replaced(VenueSources, 'end', async function (this: VenueSources) {
      await (this as unknown as Several).venues[0]?.end();
    }),
  },
  {
    name: 'lists of one venue wait for a venue that is away',
    seeds: 'beside',
    shows: /not healed/,
    deps: ({ platform, host }, world) => {
      const { venue } = platform;
      const orderReads: typeof venue.orderReads = (...made) => {
        const own = venue.orderReads(...made);
        return {
          ...own,
          listOrders: async (request, onPage, signal, budget) => {
            while (world.beside?.isAway === true && !signal.aborted) await host.clock.sleep(500, signal);
            return own.listOrders(request, onPage, signal, budget);
          },
        };
      };
      return { platform: instead(platform, { venue: instead(venue, { orderReads }) }) };
    },
  },
];
