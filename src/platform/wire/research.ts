import { z } from 'zod';
import { wireInteger, wireNumber } from './market-data.ts';

/** Query of `GET /v1/ownership/data`. Specification: the meaning. Assumption: the names, that `symbol` is required, and the bounds of `limit`. */
export const ownershipQuery = z.object({ symbol: z.string().min(1), limit: z.int().min(1).max(1000).optional() });

/** Specification, "Ownership record": every field. Assumption: `change` and `share` count shares. */
const owner = z.looseObject({
  name: z.string(),
  share: wireInteger,
  change: wireInteger,
  /** YYYY-MM-DD. */
  filingDate: z.string(),
  percentOfShares: wireNumber,
  /** May be empty. */
  source: z.string(),
});

export const ownership = z.looseObject({ data: z.array(owner) });

export const ownershipPath = '/v1/ownership/data';

export type OwnershipQuery = z.infer<typeof ownershipQuery>;
export type Owner = z.infer<typeof owner>;

/** Specification, "GET /v1/stock/investment-theme": the whole list. */
export const themes = [
  'financialExchangesData',
  'futureFood',
  '3dPrinting',
  'ageingPopulation',
  'ai',
  'bigData',
  'cloud',
  'cyberSecurity',
  'digitalisation',
  'drones',
  'fintech',
  'founder',
  'futureEntertainment',
  'futureVehicles',
  'gaming',
  'globalCleanEnergy',
  'globalWater',
  'healthcareInnovation',
  'hr',
  'mobilePayment',
  'organicFood',
  'robotics',
  'tobaccoAlcoholGambling',
  'windEnergy',
] as const;

export type Theme = (typeof themes)[number];

/** Query. Specification, all of it: 400 for any other word. */
export const investmentThemeQuery = z.object({ theme: z.enum(themes) });

/** Specification, "Investment theme response". */
export const investmentTheme = z.looseObject({
  theme: z.string(),
  data: z.array(z.looseObject({ symbol: z.string().min(1) })),
});

export const investmentThemePath = '/v1/stock/investment-theme';

/** Specification, "FDA advisory committee calendar response". Dates are `YYYY-MM-DD HH:MM:SS`, in a zone that it does not name. */
const fdaEvent = z.looseObject({
  fromDate: z.string(),
  toDate: z.string(),
  eventDescription: z.string(),
  url: z.string(),
});

export const fdaCalendar = z.looseObject({ data: z.array(fdaEvent) });

export const fdaCalendarPath = '/v1/stock/fda-advisory-committee-calendar';

export type FdaEvent = z.infer<typeof fdaEvent>;
