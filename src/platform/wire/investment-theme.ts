import { z } from 'zod';

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

export type InvestmentTheme = z.infer<typeof investmentTheme>;
