import { readFile } from 'node:fs/promises';

const tables = ['/proc/net/tcp', '/proc/net/tcp6'];
/**
 * Local address and port, the peer's, the state, and the bytes without an acknowledgement; all in
 * hexadecimal.
 */
const row = /^ *\d+: [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]{2} ([0-9A-F]{8}):/gm;

/** A connection's key: its two ports. */
export function portsOf(local: number | undefined, remote: number | undefined): string {
  return `${local}:${remote}`;
}

/**
 * By `portsOf`, a connection's bytes that the kernel has taken and the peer has not acknowledged.
 * Node shows only bytes that the kernel has not taken. The kernel takes some hundred kilobytes for
 * a peer long gone: years of heartbeats. Two connections with the same ports share the smaller
 * number, so that neither counts as gone while the other takes something. Empty if there is no such
 * table (not on Linux). Never rejects.
 */
export async function readUnacknowledged(): Promise<ReadonlyMap<string, number>> {
  const bytes = new Map<string, number>();
  for (const table of tables) {
    const text = await readFile(table, 'latin1').catch(() => '');
    for (const [, local = '', remote = '', queued = ''] of text.matchAll(row)) {
      const ports = portsOf(Number.parseInt(local, 16), Number.parseInt(remote, 16));
      const count = Number.parseInt(queued, 16);
      bytes.set(ports, Math.min(count, bytes.get(ports) ?? count));
    }
  }
  return bytes;
}
