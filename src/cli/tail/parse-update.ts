import type { z } from 'zod';
import { updateRecord } from '../../schema/update-record.ts';

export type Update = z.infer<typeof updateRecord>;

export interface TailFilter {
  readonly order?: string;
  readonly account?: string;
  readonly stream?: 'account' | 'prediction';
}

/** A record's value as an update; undefined for anything else that may lie on the topic. Fields of a later version are let through. */
export function parseUpdate(value: string): Update | undefined {
  try {
    return updateRecord.safeParse(JSON.parse(value)).data;
  } catch {
    return undefined;
  }
}

/** The order by its id alone, or as `<stream>:<orderId>`, which is its key on the topic. */
export function wanted(update: Update, { order, account, stream }: TailFilter): boolean {
  if (stream !== undefined && update.stream !== stream) return false;
  if (account !== undefined && update.accountId !== account) return false;
  return order === undefined || update.orderId === order || `${update.stream}:${update.orderId}` === order;
}
