// What a user saw: One machine with a network of IPv6 took the places of all callers who had yet to sign in.

import { EventEmitter } from 'node:events';
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { ConnectionPlaces } from '../../../src/service/rest/connection-places.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

class FakeSocket extends EventEmitter {
  destroyed = false;

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

const max = 40;

function start(signIn = true) {
  const metrics = createMetrics().process;
  const deps = { clock: new VirtualClock(), log: silentLog, metrics };
  const places = new ConnectionPlaces(deps, { port: 'rest', max, signIn });
  const server = new EventEmitter() as unknown as Server;
  places.watch(server);
  const connect = () => {
    const socket = new FakeSocket();
    server.emit('connection', socket as unknown as Socket);
    return socket;
  };
  /** Its answer ends with its `close`. */
  const ask = (socket: FakeSocket) => {
    const response = new EventEmitter();
    server.emit('request', { socket }, response as unknown as ServerResponse);
    return response;
  };
  const signs = (socket: FakeSocket, ...scopes: string[]) =>
    places.signIn(socket as unknown as Socket, { name: 'desk', scopes: new Set(scopes) });
  return { connect, ask, signs, crowd: (count: number) => Array.from({ length: count }, connect) };
}

it.each([0, 1, 20, 35, 36])(
  'a new caller beside %s that have signed in is kept until it has signed in too, whatever addresses strangers come from',
  (count) => {
    const { connect, ask, signs, crowd } = start();
    const others = crowd(count);
    for (const other of others) {
      ask(other);
      expect(signs(other)).toBe(true);
    }
    // Strangers that keep asking do not get younger.
    const strangers = crowd(200);
    for (const stranger of strangers) ask(stranger).emit('close');
    const caller = connect();
    crowd(max - count - 1);
    for (const stranger of strangers) expect(stranger.destroyed).toBe(true);
    expect(caller.destroyed).toBe(false);
    expect(signs(caller, 'ops:write')).toBe(true);
    crowd(500);
    for (const kept of [caller, ...others]) expect(kept.destroyed).toBe(false);
  },
);

it('the last tenth is for those who may halt, and an idle socket that has signed in makes room for another', () => {
  const { connect, ask, signs, crowd } = start();
  const busy = crowd(36).map((socket) => ({ socket, response: ask(socket) }));
  expect(busy.map(({ socket }) => signs(socket))).toEqual(busy.map(() => true));
  expect(signs(connect())).toBe(false);
  const operators = crowd(4);
  for (const socket of operators) ask(socket);
  expect(operators.map((socket) => signs(socket, 'ops:write'))).toEqual([true, true, true, true]);
  for (const { response } of busy.slice(10, 12).reverse()) response.emit('close');
  const late = connect();
  ask(late);
  expect(busy.filter(({ socket }) => socket.destroyed)).toEqual([busy[11]]);
  expect(signs(late)).toBe(true);
  expect(busy.filter(({ socket }) => socket.destroyed)).toEqual([busy[10], busy[11]]);
});

it('where nobody signs in the socket that was idle longest makes room, and a busy one only if all are', () => {
  const { ask, crowd } = start(false);
  const all = crowd(max);
  const streams = all.slice(0, 10).map(ask);
  for (const socket of all.slice(10, 20)) ask(socket).emit('close');
  crowd(25);
  expect(all.map(({ destroyed }) => destroyed)).toEqual(all.map((_, at) => at >= 10 && !(at >= 15 && at < 20)));
  expect(streams).toHaveLength(10);
});
