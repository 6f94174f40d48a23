import { z } from 'zod';
import { parseFixed } from './exchange/wire-text.ts';

// The values that options, bodies of the control port and faults share.

export function wholeNumber(least: number, most = Number.MAX_SAFE_INTEGER) {
  return z.number().int().min(least).max(most);
}

export const probability = z.number().min(0).max(1);

/** As text. */
export const decimalAboveZero = z
  .string()
  .refine((text) => (parseFixed(text) ?? 0n) > 0n, 'a plain decimal string above zero');
