import type { Clock } from '../../runtime/clock.ts';
import { Secret } from '../../runtime/secret.ts';
import type { HttpRequest } from '../http.ts';
import { KeySource } from '../key-source.ts';
import { RequestBudget } from '../request-budget.ts';

export interface KeyPair {
  readonly keyId: string;
  readonly secretKey: Secret;
}

export const pairRefused =
  'Alpaca refuses the key pair: make a new one, or take that of the right environment (paper or live)';

/** `<key id>:<secret key>`. */
export function keyOfPair({ keyId, secretKey }: KeyPair): Secret {
  return new Secret(`${keyId}:${secretKey.reveal()}`);
}

export function keyPairSource(clock: Clock, pair: KeyPair, requests = new RequestBudget(clock)): KeySource {
  return new KeySource(clock, keyOfPair(pair), pairRefused, { requests });
}

/** The headers of a request with this credential. */
export function signRequest(credential: Secret): HttpRequest['headers'] {
  const { keyId, secretKey } = keyPairOf(credential);
  return { 'apca-api-key-id': keyId, 'apca-api-secret-key': secretKey };
}

/** A key's id has no colon. */
export function keyPairOf(credential: Secret): KeyPair {
  const text = credential.reveal();
  const at = text.indexOf(':');
  return { keyId: text.slice(0, at), secretKey: new Secret(text.slice(at + 1)) };
}
