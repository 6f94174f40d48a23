// What a user saw: One machine with a network of IPv6 took the places of all callers who had yet to sign in.

import { EventEmitter } from 'node:events';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { ConnectionPlaces, peerOf } from '../../../src/service/rest/connection-places.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

class FakeSocket extends EventEmitter {
  destroyed = false;
  readonly remoteAddress: string;

  constructor(remoteAddress: string) {
    super();
    this.remoteAddress = remoteAddress;
  }

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

describe('strangers from one network of IPv6', () => {
  it('share the places of one peer, and end none of another one', async () => {
    const clock = new VirtualClock();
    const metrics = createMetrics().process;
    const places = new ConnectionPlaces({ clock, log: silentLog, metrics }, { port: 'rest', max: 40, signIn: true });
    const server = new EventEmitter() as unknown as Server;
    places.watch(server);
    const connect = (address: string) => {
      const socket = new FakeSocket(address);
      server.emit('connection', socket as unknown as Socket);
      return socket;
    };
    const others = ['2001:db8:1:1::7', '198.51.100.4', '::ffff:203.0.113.9'].map(connect);
    await clock.advance(2_000);
    const crowd: FakeSocket[] = [];
    for (let at = 0; at < 100; at += 1) {
      crowd.push(connect(`2001:db8:2:2:${at.toString(16)}::${(at * 7).toString(16)}`));
      await clock.advance(2_000);
    }
    expect(others.map(({ destroyed }) => destroyed)).toEqual([false, false, false]);
    expect(crowd.filter(({ destroyed }) => !destroyed)).toHaveLength(10);
    places.close();
  });

  it.each([
    ['2001:db8:2:2::7', '2001:db8:2:2:ffff:1:2:3', true],
    ['2001:db8::7', '2001:db8:0:0:1::', true],
    ['2001:0:0:5:6:7:8:9', '2001::5:1:1:1:1', true],
    ['2001::5:6:7:8:9', '2001::6:6:7:8:9', false],
    ['2001:db8:2:2::7', '2001:db8:2:3::7', false],
    ['fe80::1%eth0', 'fe80::2%eth0', true],
    ['::ffff:203.0.113.9', '203.0.113.9', true],
    ['::FFFF:203.0.113.9', '203.0.113.9', true],
    ['::ffff:203.0.113.9', '::ffff:203.0.113.8', false],
    ['::1', '::2', false],
    ['', '', true],
  ])('%s and %s are one peer: %s', (a, b, same) => {
    expect(peerOf(a) === peerOf(b)).toBe(same);
  });
});
