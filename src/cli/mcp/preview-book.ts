import type { CommandAnswer } from '../../contract/rest-answers.ts';
import type { Ambient } from '../../observability/ambient.ts';
import type { RestRequest } from '../rest/rest-client.ts';
import { type ToolAnswer, ToolError } from './tool-answer.ts';

/** A request that was shown. `commit` may send it. */
export interface Preview {
  /** Given to the assistant. Random: an id from another process never names a preview here. */
  readonly id: string;
  /**
   * The owner of the idempotency key: under another principal the same key would be another
   * command.
   */
  readonly principal: string;
  readonly request: RestRequest;
  readonly expiresAtMs: number;
  /** The same by the monotonic clock. */
  readonly endsMs: number;
  /**
   * A request with its key may have reached the service, and no
   * answer says what the service did with it.
   */
  mayHaveArrived: boolean;
  /** As the service last showed it. Once it is known, nothing is sent for this preview any more. */
  command?: CommandAnswer;
  /** The commit under way. Calls that come meanwhile share it. */
  flight?: Promise<ToolAnswer>;
}

/** How long a person has to look at a preview. After that its limits and its exposure are old. */
export const previewMs = 120_000;
const mostPreviews = 100;

/**
 * The key of the preview's request, the same each time. It follows from the id, so a command is
 * found by the id also after a restart.
 */
export function keyOf(previewId: string): string {
  return `mcp-${previewId}`;
}

/**
 * The previews of this process, in memory. A preview is *ready*, then *sending*, then *known* by
 * its command or *unanswered*. Once its time is over nothing is sent for it, and it is forgotten
 * when room is needed.
 *
 * Invariant: to forget a preview is always safe. An absent preview is never sent; its command, if
 * there is one, is found by its key.
 */
export class PreviewBook {
  private readonly deps: Pick<Ambient, 'clock' | 'random'>;
  private readonly previews = new Map<string, Preview>();

  constructor(deps: Pick<Ambient, 'clock' | 'random'>) {
    this.deps = deps;
  }

  /** An id before its preview, so that the request can carry its key. */
  nextId(): string {
    return this.deps.random.uuid();
  }

  /** Throws `TOO_MANY_PREVIEWS` while a hundred wait for their commit. */
  add(id: string, principal: string, request: RestRequest): Preview {
    for (const preview of this.previews.values())
      if (this.hasExpired(preview) && preview.flight === undefined) this.previews.delete(preview.id);
    if (this.previews.size >= mostPreviews)
      throw new ToolError(
        'TOO_MANY_PREVIEWS',
        `${mostPreviews} previews wait for a commit; each ends after ${previewMs / 1000} s`,
        true,
      );
    const { clock } = this.deps;
    const expiresAtMs = clock.nowMs() + previewMs;
    const endsMs = clock.monotonicMs() + previewMs;
    const preview = { id, principal, request, expiresAtMs, endsMs, mayHaveArrived: false };
    this.previews.set(id, preview);
    return preview;
  }

  find(id: string): Preview | undefined {
    return this.previews.get(id);
  }

  /** Nothing was sent for it, and nothing will be. */
  remove(id: string): void {
    this.previews.delete(id);
  }

  /**
   * By both clocks: the monotonic one stands still while a laptop
   * sleeps, the other one may be set back.
   */
  hasExpired({ endsMs, expiresAtMs }: Preview): boolean {
    const { clock } = this.deps;
    return clock.monotonicMs() >= endsMs || clock.nowMs() >= expiresAtMs;
  }
}
