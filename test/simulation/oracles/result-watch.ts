import type { PublishRow } from '../../../src/service/log/publisher.ts';
import type { MemoryJournal } from '../../support/commands/memory-journal.ts';

/**
 * What reaches the topic of results: steps that were taken, those of
 * one command in order, each at least once.
 */
export class ResultWatch {
  readonly breaches: string[] = [];
  /** By command: the highest version seen. */
  private readonly seen = new Map<string, number>();
  private readonly journal: MemoryJournal;

  constructor(journal: MemoryJournal) {
    this.journal = journal;
  }

  appended({ key, payload }: PublishRow, from: string): void {
    const { version, state } = JSON.parse(payload) as { version: number; state: string };
    const step = this.journal.events.find(({ command }) => command.commandId === key && command.version === version);
    if (step?.command.state !== state)
      this.breaches.push(`${from} tells of ${key} version ${version} ${state}, which is no step of it`);
    const last = this.seen.get(key) ?? 0;
    if (version > last + 1) this.breaches.push(`${from} tells version ${version} of ${key} first behind ${last}`);
    this.seen.set(key, Math.max(last, version));
  }

  /** Steps that nobody was told of. */
  missing(): string[] {
    return [...this.journal.commands.values()].flatMap(({ commandId, version }) => {
      const told = this.seen.get(commandId) ?? 0;
      return told < version ? [`${commandId} is at version ${version}, its topic at ${told}`] : [];
    });
  }
}
