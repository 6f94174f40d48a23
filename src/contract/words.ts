import { z } from 'zod';
import { attemptStates, commandKinds, commandStates, type ResultWord } from '../domain/command.ts';
import { instrumentKinds } from '../domain/limits.ts';
import { orderStatuses, streams } from '../domain/order.ts';
import { securitiesStreams } from '../domain/streams.ts';

// Words in many shapes. Each is one named schema, so a generated client has one type for it.

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
