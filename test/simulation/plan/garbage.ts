import type { Random } from '../../../src/runtime/random.ts';
import { oneOf } from '../../../src/sandbox/market/instruments.ts';

export type Spoil = (event: string) => string;

/**
 * What may come in place of an event: each once met on some platform. All are whole text messages;
 * broken frames are the real socket's matter. None may be read as another order than the event had:
 * that is a lie, which no later version of a prediction order takes back (`"cumQty":12.5` was here
 * until a number stood for its text).
 */
export const platformSpoils: readonly Spoil[] = [
  (event) => event.slice(0, event.length >> 1),
  () => 'null',
  () => '[]',
  () => '<html><body>502 Bad Gateway</body></html>',
  () => '{"type":"notice","payload":{"text":"maintenance at noon"}}',
  (event) => event.replace('"type":"event"', '"type":"evnt"'),
  (event) => event.replace(/"cumQty":"[^"]*"/, '"cumQty":"1e400"'),
  (event) => event.replace(/"cumQty":"[^"]*"/, '"cumQty":"12,5"'),
  (event) => event.replace(/"updatedAt":"[^"]*"/, '"updatedAt":"2026-02-30T00:00:00Z"'),
  (event) => event.replace(/"leavesQty":"[^"]*",?/, ''),
  (event) => event.replace(/"version":\d+/, '"version":-1').replace(/"qty":"[^"]*"/, '"qty":null'),
  (event) => event.replace(/"version":\d+/, '"version":1e3').replace(/"symbol":"[^"]*"/, '"symbol":null'),
  (event) => event.replace(/"target":"[^"]*"/, '"target":"acct"'),
  // What the memory database takes for a text that Postgres refuses.
  (event) => event.replace(/"clOrdId":"[^"]*"/, '"clOrdId":"POISON"'),
  (event) => event.replace(/"data":\{.*\}\}\}$/, '"data":null}}'),
];

export function spoiled(event: string, random: Random, spoils: readonly Spoil[]): string {
  return oneOf(random, spoils)(event);
}
