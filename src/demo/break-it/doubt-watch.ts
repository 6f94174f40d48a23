import type { Incident } from './incident.ts';

interface Doubt {
  readonly name: string;
  readonly detail: string;
}

/** They stay after the fault has healed, for so long: the last words of a story. */
const lasting: ReadonlyMap<string, string> = new Map([
  [
    'silent_losses',
    'The badge at the top names the silent losses for an hour, for a stream that lost one change may lose more.',
  ],
  ['halted', 'Placing stays halted until a person resumes it.'],
  ['dead_letters', 'A dead letter stays until a person has looked at it.'],
]);

/** A stream fault leaves commands as they are; the demo shows some of its own meanwhile. */
const ofCommands = 'commands_unresolved';

/**
 * Writes into an incident which of the service's doubts appeared and went. Earlier doubts are left
 * out.
 */
export class DoubtWatch {
  private known: ReadonlyMap<string, string>;
  private readonly before: ReadonlySet<string>;

  constructor(before: readonly Doubt[], { commands }: { readonly commands: boolean }) {
    this.before = new Set([...before.map(({ name }) => name), ...(commands ? [] : [ofCommands])]);
    this.known = new Map();
  }

  /** Whether every new doubt has gone, or stays by its kind. */
  get clear(): boolean {
    return [...this.known.keys()].every((name) => lasting.has(name));
  }

  /**
   * A sentence for each doubt that stays, so that "healed" and the badge at the top say the same.
   */
  get staying(): readonly string[] {
    return [...this.known.keys()].flatMap((name) => lasting.get(name) ?? []);
  }

  take(doubts: readonly Doubt[], incident: Incident): void {
    const now = new Map(doubts.filter(({ name }) => !this.before.has(name)).map(({ name, detail }) => [name, detail]));
    for (const [name, detail] of now) if (!this.known.has(name)) incident.add('doubt', sentence(detail));
    for (const [name, detail] of this.known) if (!now.has(name)) incident.add('doubt_gone', `No longer: ${detail}.`);
    // The first words again: the line that ends a doubt is like the one that began it.
    this.known = new Map([...now].map(([name, detail]) => [name, this.known.get(name) ?? detail]));
  }
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
