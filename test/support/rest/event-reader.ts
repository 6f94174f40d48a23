import { systemClock } from '../../../src/runtime/clock.ts';

interface ServerEvent {
  readonly event: string;
  readonly id?: string;
  readonly data: string;
}

/** A reader of server-sent events (WHATWG HTML) that keeps everything it was sent. */
export class EventReader {
  readonly status: number;
  readonly headers: Headers;
  readonly events: ServerEvent[] = [];
  ended = false;
  /** What a browser would send as `Last-Event-ID`. */
  lastId: string | undefined;
  /** Blocks that set the id and dispatch nothing. */
  silentIds = 0;
  private readonly abort: AbortController;

  private constructor(response: Response, abort: AbortController) {
    this.status = response.status;
    this.headers = response.headers;
    this.abort = abort;
    void this.read(response);
  }

  static async open(url: string, headers: Record<string, string> = {}): Promise<EventReader> {
    const abort = new AbortController();
    return new EventReader(await fetch(url, { headers, signal: abort.signal }), abort);
  }

  /** The first `count` events, once there are so many. */
  async take(count: number, deadlineMs = 20_000): Promise<readonly ServerEvent[]> {
    await this.until(
      () => this.events.length >= count,
      deadlineMs,
      () => `${this.events.length} of ${count} events`,
    );
    return this.events.slice(0, count);
  }

  async untilEnded(deadlineMs = 20_000): Promise<void> {
    await this.until(
      () => this.ended,
      deadlineMs,
      () => 'the stream did not end',
    );
  }

  close(): void {
    this.abort.abort();
  }

  private async until(done: () => boolean, deadlineMs: number, what: () => string): Promise<void> {
    const deadline = systemClock.monotonicMs() + deadlineMs;
    while (!done()) {
      if (systemClock.monotonicMs() > deadline) throw new Error(what());
      await systemClock.sleep(5);
    }
  }

  private async read(response: Response): Promise<void> {
    const decoder = new TextDecoder();
    let rest = '';
    try {
      for await (const chunk of response.body ?? []) {
        rest += decoder.decode(chunk, { stream: true });
        const blocks = rest.split('\n\n');
        rest = blocks.pop() ?? '';
        for (const block of blocks) this.parse(block);
      }
    } catch {
      // Cut: what came before is kept.
    }
    this.ended = true;
  }

  private parse(block: string): void {
    const fields = new Map<string, string>();
    for (const line of block.split('\n')) {
      const [, name = '', value = ''] = /^(\w+): ?(.*)$/.exec(line) ?? [];
      if (name !== '') fields.set(name, value);
    }
    this.lastId = fields.get('id') ?? this.lastId;
    const data = fields.get('data');
    const id = fields.get('id');
    if (data === undefined && id !== undefined) this.silentIds += 1;
    if (data === undefined) return;
    this.events.push({ event: fields.get('event') ?? 'message', data, ...(id === undefined ? {} : { id }) });
  }
}
