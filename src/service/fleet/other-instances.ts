import type { Secret } from '../../runtime/secret.ts';

export interface OtherInstance {
  /** Its name in `Tidemark-Instance`. */
  readonly instance: string;
  /** Its REST, without a slash at the end: `http://10.0.0.7:8080`. */
  readonly address: string;
}

/** The other processes that take forwarded requests, from memory: it may be some seconds old. */
export interface OtherInstances {
  /**
   * Undefined: this process holds the account's shard, or none does, or its holder has no address.
   */
  holderOf(accountId: string): OtherInstance | undefined;
  all(): readonly OtherInstance[];
}

export interface InstanceAnswer {
  readonly kind: 'answered';
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

type InstanceResult =
  | InstanceAnswer
  /** No whole answer. `sent`: whether bytes of the request may have arrived. */
  | { readonly kind: 'failed'; readonly code: string; readonly sent: 'no' | 'maybe' };

/** HTTP to another instance: one request, one attempt, under a deadline. Never rejects. */
export interface InstanceHttp {
  request(request: {
    readonly operation: 'forward';
    readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
    readonly url: string;
    readonly headers: Readonly<Record<string, string | Secret>>;
    readonly body?: string;
    readonly signal?: AbortSignal;
  }): Promise<InstanceResult>;
  close(): Promise<void>;
}
