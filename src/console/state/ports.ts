// Everything the console needs from the browser. The state takes it from outside: tests run it in
// Node, with a clock and a network of their own.

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: ReadableStream<Uint8Array> | null;
  text(): Promise<string>;
}

export interface Timer {
  cancel(): void;
}

export interface Ports {
  readonly fetch: (path: string, request: HttpRequest) => Promise<HttpAnswer>;
  /** Milliseconds since 1970, by the reader's clock: for display only. */
  readonly nowMs: () => number;
  /** Milliseconds on a clock that is never set, and goes on in a sleep: for ages and waits. */
  readonly monotonicMs: () => number;
  readonly after: (ms: number, run: () => void) => Timer;
  /** Runs once before the next frame is drawn. */
  readonly frame: (run: () => void) => void;
  /** Resolves after waiting keys, clicks and frames have had their turn. */
  readonly turn: () => Promise<void>;
  /** From 0 up to 1. */
  readonly random: () => number;
  /** A new id that cannot be guessed, for idempotency keys. */
  readonly newId: () => string;
  /** For this tab only; another tab and a later start of the browser do not have it. */
  readonly tabStore: TextStore;
  /** For later visits with this browser: never for anything the service has said. */
  readonly keptStore: TextStore;
  /** Asks the issuer, at another origin. */
  readonly askIssuer: (url: string, request: object) => Promise<Response>;
  readonly page: PagePort;
}

interface TextStore {
  read(name: string): string | undefined;
  write(name: string, text: string): void;
  forget(name: string): void;
}

/** The page itself, as far as the state has to move it. */
interface PagePort {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Whether the browser gives the page its cryptography: over TLS, or from this machine. */
  readonly secure: boolean;
  readonly address: () => { readonly path: string; readonly query: string };
  /** Shows another address in the console instead of the present one. */
  readonly show: (address: string) => void;
  /** Leaves the console. */
  readonly leaveFor: (url: string) => void;
  /** Runs now, or once a person looks at the page again. */
  readonly whenSeen: (run: () => void) => void;
}

/** Resolves after `ms`, or at once when `signal` aborts. */
export function pause(ports: Pick<Ports, 'after'>, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const leave = () => {
      timer.cancel();
      resolve();
    };
    // A signal may live for a week, and keeps each listener that is left on it.
    const timer = ports.after(ms, () => {
      signal.removeEventListener('abort', leave);
      resolve();
    });
    signal.addEventListener('abort', leave, { once: true });
  });
}
