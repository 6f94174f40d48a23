import type fc from 'fast-check';
import { z } from 'zod';
import type { RunningSandbox } from '../../../src/sandbox/start-sandbox.ts';

/** One documented endpoint, as far as requests can be made for it from its schemas. */
export interface Endpoint {
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly listener: 'platform' | 'staging';
  /** Undefined: open to everybody. */
  readonly scope?: string;
  /** Below the base address. A function where something has to be there first. */
  readonly path: string | ((sandbox: RunningSandbox) => Promise<string> | string);
  readonly query?: z.ZodObject;
  readonly body?: z.ZodObject;
  readonly headers?: (sandbox: RunningSandbox) => Readonly<Record<string, string>>;
  /** Fields whose values have to exist, or whose shape is narrower than their schema can say. */
  readonly known?: Readonly<Record<string, fc.Arbitrary<unknown>>>;
  /** Puts right what fields mean together: a LIMIT order has a price. */
  readonly complete?: (value: Record<string, unknown>) => Record<string, unknown>;
  /** Of a valid request. */
  readonly accepted: readonly number[];
  /** Of a request that breaks one keyword. `code` undefined: none is promised. */
  readonly refused: (field: string, keyword: string) => { readonly status: number; readonly code?: string | undefined };
  /** Breaks that are none here: the endpoint takes such values. */
  readonly tolerated?: readonly string[];
  /** A valid request uses something up, so that each needs a sandbox of its own. */
  readonly fresh?: true;
}

/** The query of endpoints about one order. */
export const accountQuery = z.object({ accountId: z.string().min(1) });
