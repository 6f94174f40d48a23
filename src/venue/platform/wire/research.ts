import { z } from 'zod';
import { optionalInteger, optionalNumber } from './market-data.ts';
import { neededText, readableOf, shownText } from './optional-field.ts';

/**
 * The query of `GET /v1/ownership/data`. Specification: the meaning. Assumption: the names, a
 * required `symbol`, and the bounds on `limit`.
 */
export const ownershipQuery = z.object({ symbol: z.string().min(1), limit: z.int().min(1).max(1000).optional() });

/**
 * Specification, "Ownership record": every field. Assumption: `change` and `share` count shares.
 */
const owner = z.looseObject({
  name: neededText,
  share: optionalInteger,
  change: optionalInteger,
  /** YYYY-MM-DD. */
  filingDate: shownText,
  percentOfShares: optionalNumber,
  /** May be empty. */
  source: shownText,
});

export const ownership = z.looseObject({ data: readableOf(owner) });

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
  theme: shownText,
  data: readableOf(z.looseObject({ symbol: neededText })),
});

export const investmentThemePath = '/v1/stock/investment-theme';

/**
 * Specification, "FDA advisory committee calendar response". Dates are `YYYY-MM-DD HH:MM:SS`, in a
 * zone it does not name.
 */
const fdaEvent = z.looseObject({
  fromDate: neededText,
  toDate: shownText,
  eventDescription: shownText,
  url: shownText,
});

export const fdaCalendar = z.looseObject({ data: readableOf(fdaEvent) });

export const fdaCalendarPath = '/v1/stock/fda-advisory-committee-calendar';

export type FdaEvent = z.infer<typeof fdaEvent>;
