import type { Socket } from 'node:net';

/** Loses what the broker answers, while the broker hears everything. */
export class AnswerSwallower {
  swallow = false;
  readonly sockets: Socket[] = [];

  watch(socket: Socket): void {
    this.sockets.push(socket);
    const emit = socket.emit.bind(socket);
    socket.emit = (event: string | symbol, ...rest: unknown[]) =>
      event === 'data' && this.swallow ? true : emit(event, ...rest);
  }
}
