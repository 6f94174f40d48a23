import { z } from 'zod';
import { attemptStates, commandKinds, commandStates, type ResultWord } from '../domain/command.ts';
import { instrumentKinds } from '../domain/limits.ts';
import { orderStatuses, streams } from '../domain/order.ts';
import { securitiesStreams } from '../domain/streams.ts';

// Words and parts of many shapes. What has a name is one schema in the documents, and one type in a
// generated client.

/** An object of an answer or a record: open, since a later minor version may add fields. */
export function named<Fields extends z.core.$ZodLooseShape>(id: string, description: string, fields: Fields) {
  return z.object(fields).meta({ id, description });
}

/** An object of a request: any other field is a fault. */
export function namedBody<Fields extends z.core.$ZodLooseShape>(id: string, description: string, fields: Fields) {
  return z.strictObject(fields).meta({ id, description });
}

export const count = z.int().nonnegative();
export const next = z.string().optional().describe('Cursor of the next page; absent on the last');

export const stream = z
  .enum(streams)
  .meta({ id: 'Stream', description: 'Equities and options of an account, or its prediction orders' });
export const securitiesStream = z
  .enum(securitiesStreams)
  .describe('The stream of the account, and so the venue that the order goes to');
export const orderStatus = z.enum(orderStatuses).meta({ id: 'OrderStatus', description: 'One list for both streams' });
export const instrumentKind = z.enum(instrumentKinds).meta({ id: 'InstrumentKind', description: 'What is traded' });
export const commandKind = z.enum(commandKinds).meta({ id: 'CommandKind', description: 'What a command does' });
export const commandState = z
  .enum(commandStates)
  .meta({ id: 'CommandState', description: 'As the result, but `open` while its attempt is not answered' });
export const attemptState = z
  .enum(attemptStates)
  .meta({ id: 'AttemptState', description: 'How far one write to the platform has come' });
export const result = z
  .enum(commandStates.filter((state): state is ResultWord => state !== 'open'))
  .meta({ id: 'ResultWord', description: 'What is known about a command' });
