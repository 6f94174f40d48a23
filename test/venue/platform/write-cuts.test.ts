import { afterAll, describe, expect, it } from 'vitest';
import { fixedToken, writeDeps, writes } from '../../support/commands/order-writes.ts';
import { httpAnswer, scriptedWire, wholeRequest } from '../../support/platform/scripted-wire.ts';
import { eventually } from '../../support/runs/poll.ts';
import { TcpProxy } from '../../support/servers/tcp-proxy.ts';

const patient = writeDeps();
// Long enough for a busy machine to carry the bytes to the wire before the deadline.
const hasty = writeDeps(fixedToken(), { totalMs: 600 });
const proxies: TcpProxy[] = [];
afterAll(() => Promise.all(proxies.map((proxy) => proxy.stop())));

/**
 * The platform behind a network that does what the test says: all that
 * reaches it is what the network let through.
 */
async function throughNetwork(write: (typeof writes)[string]) {
  const wire = await scriptedWire({
    onBytes: (socket, bytes) => wholeRequest(bytes) && socket.end(httpAnswer(write.status, write.answer)),
  });
  const proxy = await TcpProxy.start({ targetPort: Number(new URL(wire.url).port) });
  proxies.push(proxy);
  const url = `http://${proxy.address}`;
  expect(await write.run(patient, url)).toMatchObject({ kind: 'accepted' });
  const length = wire.received[0]?.length ?? 0;
  expect(length).toBeGreaterThan(100);
  /**
   * The bytes of the run after the first one, and that it was one
   * connection with one request at most. The wire may hear of a connection
   * after the caller has its answer.
   */
  const reached = async (run: number) => {
    await eventually(() => expect(wire.connections).toBeGreaterThan(run));
    expect([proxy.accepted, wire.connections]).toEqual([run + 1, run + 1]);
    return wire.received[run] ?? '';
  };
  return { wire, proxy, url, length, reached };
}

describe.each(Object.entries(writes))('%s through a network', (_name, write) => {
  it.each(['fin', 'reset'] as const)(
    'is unknown and never repeated when the connection is cut by %s after any number of its bytes',
    async (ending) => {
      const { proxy, url, length, reached, wire } = await throughNetwork(write);
      const whole = wire.received[0] ?? '';
      let run = 0;
      for (let bytes = 0; bytes < length; bytes += 1) {
        run += 1;
        proxy.behave({ kind: 'after', bytes, ending }, 'toTarget');
        const result = await write.run(patient, url);
        expect(result, `cut after ${bytes}`).toMatchObject({ reason: { code: 'NO_ANSWER' } });
        const there = await reached(run);
        expect(there).toBe(whole.slice(0, there.length));
        expect(there.length).toBeLessThanOrEqual(bytes);
        // Without one byte of it there, nothing can have happened; but
        // we know that only where none was written.
        expect(there === '' ? ['unknown', 'not_sent'] : ['unknown']).toContain(result.kind);
      }
    },
  );

  it('is unknown and never repeated when the network loses the rest of it in silence', async () => {
    const { length } = await throughNetwork(write);
    const losing = async (bytes: number) => {
      const { proxy, url, reached } = await throughNetwork(write);
      proxy.behave({ kind: 'after', bytes, ending: 'swallow' }, 'toTarget');
      expect(await write.run(hasty, url)).toEqual({
        kind: 'unknown',
        reason: { code: 'NO_ANSWER', message: expect.any(String) },
      });
      expect(await reached(1)).toHaveLength(bytes);
    };
    await Promise.all([0, 1, Math.floor(length / 2), length - 1].map(losing));
  });

  it('is unknown and never repeated when its answer never comes through, though the platform took it', async () => {
    const { proxy, url, length, reached, wire } = await throughNetwork(write);
    proxy.behave({ kind: 'swallow' }, 'toClient');
    expect(await write.run(hasty, url)).toMatchObject({ kind: 'unknown' });
    expect(await reached(1)).toHaveLength(length);
    expect(wire.requests).toBe(2);
  });

  it('is accepted when it comes byte by byte, or a late informational answer goes before the real one', async () => {
    const { proxy, url, wire } = await throughNetwork(write);
    proxy.behave({ kind: 'dribble', bytes: 50, everyMs: 1 });
    expect(await write.run(patient, url)).toMatchObject({ kind: 'accepted' });
    const informing = await scriptedWire({
      onBytes: (socket, bytes) =>
        wholeRequest(bytes) && socket.end(`HTTP/1.1 100 Continue\r\n\r\n${httpAnswer(write.status, write.answer)}`),
    });
    expect(await write.run(patient, informing.url)).toMatchObject({ kind: 'accepted' });
    expect([wire.requests, informing.requests]).toEqual([2, 1]);
  });

  it('takes the first answer and no second one, and sends nothing more on the connection', async () => {
    const refusal = httpAnswer(403, '');
    const wire = await scriptedWire({
      onBytes: (socket, bytes) => wholeRequest(bytes) && socket.write(refusal + httpAnswer(write.status, write.answer)),
    });
    expect(await write.run(patient, wire.url)).toMatchObject({ kind: 'refused', reason: { status: 403 } });
    expect([wire.connections, wire.requests]).toEqual([1, 1]);
  });
});
