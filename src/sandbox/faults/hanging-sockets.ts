/** A connection that can be cut: the socket below HTTP or WebSocket. */
interface Cuttable {
  destroy(): void;
  once(event: 'close', listener: () => void): unknown;
}

/** Connections that a fault left without an answer. They stay until the other side gives up, or until it heals. */
export class HangingSockets {
  private readonly sockets = new Set<Cuttable>();

  add(socket: Cuttable): void {
    this.sockets.add(socket);
    socket.once('close', () => this.sockets.delete(socket));
  }

  cutAll(): void {
    for (const socket of this.sockets) socket.destroy();
  }
}
