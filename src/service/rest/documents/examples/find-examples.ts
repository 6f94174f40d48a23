import type { z } from 'zod';
import { commandExamples } from './command-examples.ts';
import type { Example } from './example.ts';
import { operatorExamples } from './operator-examples.ts';
import { orderExamples } from './order-examples.ts';
import { serviceExamples } from './service-examples.ts';

export const allExamples: readonly Example[] = [
  ...orderExamples,
  ...commandExamples,
  ...operatorExamples,
  ...serviceExamples,
];

/**
 * A body's examples: those for this very operation, else those for its status, else those for any.
 */
export function examplesOf(shape: z.ZodType, operationId?: string, status?: number): readonly Example[] {
  const fitting = allExamples.filter(
    (each) =>
      each.shape === shape &&
      (each.operationId === undefined || each.operationId === operationId) &&
      (each.status === undefined || each.status === status),
  );
  for (const name of ['operationId', 'status'] as const) {
    const own = fitting.filter((each) => each[name] !== undefined);
    if (own.length > 0) return own;
  }
  return fitting;
}
