import type { StreamTopic } from '../../platform/wire/event-envelope.ts';
import type { StreamSession } from './stream-session.ts';

const nobody: readonly StreamSession[] = [];

/** The sessions that follow each account. */
export class Subscriptions {
  readonly sessions = new Set<StreamSession>();
  private readonly followers = new Map<string, StreamSession[]>();

  /** In the order in which they subscribed. */
  of(topic: StreamTopic, accountId: string): readonly StreamSession[] {
    return this.followers.get(`${topic} ${accountId}`) ?? nobody;
  }

  add(session: StreamSession, topic: StreamTopic, accountId: string): void {
    const target = `${topic} ${accountId}`;
    if (session.targets.has(target)) return;
    session.targets.add(target);
    this.followers.set(target, [...(this.followers.get(target) ?? []), session]);
  }

  remove(session: StreamSession, topic: StreamTopic, accountId: string): void {
    this.drop(session, `${topic} ${accountId}`);
  }

  removeAll(session: StreamSession): void {
    for (const target of [...session.targets]) this.drop(session, target);
    this.sessions.delete(session);
  }

  /** True when more than `bytes` wait for one of the readers. */
  behind(bytes: number): boolean {
    for (const session of this.sessions) if (session.open && session.backlogBytes > bytes) return true;
    return false;
  }

  private drop(session: StreamSession, target: string): void {
    session.targets.delete(target);
    const left = (this.followers.get(target) ?? []).filter((it) => it !== session);
    if (left.length === 0) this.followers.delete(target);
    else this.followers.set(target, left);
  }
}
