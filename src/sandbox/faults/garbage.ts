import { rawFrame } from '../stream/raw-frame.ts';
import type { GarbageKind } from './fault-shapes.ts';

const anEvent =
  '{"type":"event","timestamp":"2026-11-21T12:00:00.000000Z","payload":{"topic":"prediction","name":"prediction.order","target":"account:none","data":{"orderId":"none","version":1,"state":"new","cumQty":"0","updatedAt":"2026-11-21T12:00:00.000000Z"}}}';

const badVersions = ['9223372036854775808', '1.0', '1e3', '-1', 'null', '""', '"x"'];
const oversizeBytes = 64 * 1024 + 1;

/**
 * Frames that break a rule each: of JSON, of the event's shape, of UTF-8, of WebSocket, or of the limit of 64 KiB. Where it can, a frame is a real event with
 * one thing wrong, so that a reader can say which order to ask after. None of them can be read as a state of the order: the platform is careless, not a liar.
 */
export function garbageOf(kind: GarbageKind, event: string = anEvent): Buffer {
  return makers[kind](event);
}

const text = (payload: string): Buffer => rawFrame(1, Buffer.from(payload));

const makers: Readonly<Record<GarbageKind, (event: string) => Buffer>> = {
  not_json: () => text('order update follows'),
  truncated_json: (event) => text(event.slice(0, event.length >> 1)),
  html: () => text('<html><body>Service temporarily unavailable</body></html>'),
  empty: () => text(''),
  not_an_object: () => text('[1,2,3]'),
  unknown_type: () => text('{"type":"rebalance","payload":{}}'),
  no_payload: () => text('{"type":"event","timestamp":"2026-11-21T12:00:00.000000Z"}'),
  null_data: (event) => text(event.replace(/"data":\{.*\}\}\}$/, '"data":null}}')),
  missing_field: (event) => text(event.replace(/"(state|ordStatus)":"[^"]*",/, '')),
  bad_version: (event) => text(withVersion(event)),
  bad_decimal: (event) => text(event.replace(/"cumQty":"[^"]*"/, '"cumQty":"1e9"')),
  bad_instant: (event) => text(event.replace(/"updatedAt":"[^"]*"/, '"updatedAt":"2026-02-30T00:00:00Z"')),
  bad_utf8: () => rawFrame(1, Buffer.from([0x7b, 0x22, 0xc3, 0x28, 0xff, 0x22, 0x7d])),
  binary: (event) => rawFrame(2, Buffer.from(event)),
  oversize: () => text(`"${'x'.repeat(oversizeBytes - 2)}"`),
  unfinished_fragments: (event) => unfinished(Buffer.from(event)),
  reserved_bit: (event) => rawFrame(1, Buffer.from(event), { reserved: true }),
  ping_flood: () => Buffer.concat(Array.from({ length: 2000 }, () => rawFrame(9, Buffer.from('flood')))),
};

/** Another bad version each time, the choice made by the event itself. */
function withVersion(event: string): string {
  const version = badVersions[event.length % badVersions.length] ?? 'null';
  return event.replace(/"version":\d+/, `"version":${version}`);
}

/** A message of 65 fragments that never ends. */
function unfinished(payload: Buffer): Buffer {
  const parts = [rawFrame(1, payload.subarray(0, 8), { final: false })];
  for (let i = 0; i < 64; i += 1) parts.push(rawFrame(0, payload.subarray(8, 16), { final: false }));
  return Buffer.concat(parts);
}
