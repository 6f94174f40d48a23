/** What one check found. */
export interface Finding {
  /** What was looked at, in a word or two: `database`, `topics`, `sign-in`. */
  readonly part: string;
  readonly verdict: 'ok' | 'warn' | 'fail';
  /** One sentence, without secrets. */
  readonly detail: string;
  /** What to do about it; absent when it is ok. */
  readonly mend?: string;
}

export const ok = (part: string, detail: string): Finding => ({ part, verdict: 'ok', detail });
export const warn = (part: string, detail: string, mend: string): Finding => ({ part, verdict: 'warn', detail, mend });
export const fail = (part: string, detail: string, mend: string): Finding => ({ part, verdict: 'fail', detail, mend });
