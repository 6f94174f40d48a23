import type { Clock } from '../../runtime/clock.ts';
import { type KeyPair, KeySource, keyOfPair, pairHeaders } from '../key-source.ts';
import { RequestBudget } from '../request-budget.ts';

export const pairRefused =
  'Alpaca refuses the key pair: make a new one, or take that of the right environment (paper or live)';

export function keyPairSource(clock: Clock, pair: KeyPair, requests = new RequestBudget(clock)): KeySource {
  return new KeySource(clock, keyOfPair(pair), pairRefused, { requests });
}

export const signRequest = pairHeaders('apca-api-key-id', 'apca-api-secret-key');
