import type { Principal } from '../auth/directory.ts';

/** Every user's settings at first: one value for each JSON type. */
export const defaultSettings: readonly { readonly category: string; readonly key: string; readonly value: unknown }[] =
  [
    { category: 'display', key: 'theme', value: 'dark' },
    { category: 'display', key: 'fontSize', value: 14 },
    { category: 'display', key: 'columns', value: ['symbol', 'last', 'change'] },
    { category: 'trading', key: 'confirmOrders', value: true },
    { category: 'trading', key: 'defaultQuantity', value: '100' },
    { category: 'trading', key: 'defaultRoute', value: null },
    { category: 'notifications', key: 'quietHours', value: { from: '22:00', to: '07:00' } },
    { category: 'notifications', key: 'fills', value: 'push' },
  ];

/** Whom a token speaks for: the user who signed in, or the client itself. */
type Subject = string;

export function subjectOf({ username, clientId }: Principal): Subject {
  // A user may have a client's name.
  return username === undefined ? `client:${clientId}` : `user:${username}`;
}

type Settings = Map<string, Map<string, unknown>>;

/**
 * Users' records at the platform: an e-mail address and settings. Everybody begins with the seeded
 * settings. A client-credentials token speaks for its client. A client has records of its own, so
 * that both kinds of token can try these endpoints.
 */
export class UserRecords {
  private readonly emails = new Map<Subject, string>();
  private readonly settings = new Map<Subject, Settings>();

  emailOf(subject: Subject): string {
    return this.emails.get(subject) ?? `${encodeURIComponent(subject)}@sandbox.example`;
  }

  /** The sign-in name stays as it is (docs/platform-assumptions.md, "OAuth2"). */
  changeEmail(subject: Subject, email: string): void {
    this.emails.set(subject, email);
  }

  /** The value, wrapped because a setting may be null; undefined when there is none. */
  setting(subject: Subject, category: string, key: string): { readonly value: unknown } | undefined {
    const keys = this.settingsOf(subject).get(category);
    return keys?.has(key) === true ? { value: keys.get(key) } : undefined;
  }

  /** Deletes them all, or none when one is not there: then it answers with that key. */
  deleteSettings(subject: Subject, category: string, keys: readonly string[]): string | undefined {
    const there = this.settingsOf(subject).get(category);
    const missing = keys.find((key) => there?.has(key) !== true);
    if (missing !== undefined) return missing;
    for (const key of keys) there?.delete(key);
    return undefined;
  }

  /** All changes, in a fixed order: two equal texts mean that nothing happened in between. */
  snapshot(): string {
    const settings = [...this.settings].map(([subject, categories]) => [
      subject,
      [...categories].map(([category, keys]) => [category, [...keys]]),
    ]);
    return JSON.stringify([[...this.emails].sort(), settings.sort()]);
  }

  private settingsOf(subject: Subject): Settings {
    let settings = this.settings.get(subject);
    if (settings === undefined) {
      settings = new Map();
      for (const { category, key, value } of defaultSettings) {
        const keys = settings.get(category) ?? new Map<string, unknown>();
        settings.set(category, keys.set(key, value));
      }
      this.settings.set(subject, settings);
    }
    return settings;
  }
}
