import type { CommandHistory } from '../../../contract/rest-answers.ts';

type Entry = CommandHistory['timeline'][number];
export type Fact = Extract<Entry, { what: 'evidence' }>;
type Attempt = CommandHistory['attempts'][number];

export type Step =
  | { readonly kind: 'asked'; readonly at: string }
  | { readonly kind: 'prepared' | 'sending'; readonly at: string }
  /** The answer, if no fact has it: a takeover ended the wait for it. */
  | {
      readonly kind: 'answered';
      readonly at: string;
      readonly state: Attempt['state'];
      readonly reason?: Attempt['reason'];
    }
  | { readonly kind: 'fact'; readonly at: string; readonly fact: Fact }
  /** Reads in a row that did not show it. `from` and `at`: the first and the last. */
  | { readonly kind: 'missed'; readonly at: string; readonly from: string; readonly facts: readonly Fact[] };

/**
 * The request, then each attempt with everything known about it. `since`: what is known about a
 * command without an attempt.
 */
export interface TimelineGroup {
  readonly name: 'asked' | 'attempt' | 'since';
  readonly attempt?: Attempt;
  readonly steps: readonly Step[];
}

export function timelineOf(command: CommandHistory): readonly TimelineGroup[] {
  const { attempts, timeline, createdAt } = command;
  const facts = timeline.filter((entry): entry is Fact => entry.what === 'evidence' && !isStep(entry));
  const groups = attempts.map((attempt): TimelineGroup => {
    const own = facts.filter((fact) => attemptOf(fact, attempts) === attempt);
    return { name: 'attempt', attempt, steps: inTime(stepsOf(attempt, own), own) };
  });
  const others = facts.filter((fact) => attemptOf(fact, attempts) === undefined);
  const asked: TimelineGroup = { name: 'asked', steps: [{ kind: 'asked', at: createdAt }] };
  return [asked, ...groups, ...(others.length === 0 ? [] : [{ name: 'since' as const, steps: inTime([], others) }])];
}

/** The attempt named by a fact; else the newest at that time. */
function attemptOf({ attemptId, at }: Fact, attempts: readonly Attempt[]): Attempt | undefined {
  const named = attempts.find((attempt) => attempt.attemptId === attemptId);
  return named ?? attempts.findLast(({ preparedAt }) => preparedAt <= at) ?? attempts[0];
}

/** Each step of an attempt is a fact as well: it is shown once. */
function isStep({ kind, code, attemptId }: Fact): boolean {
  return kind === 'note' && attemptId !== undefined && (code === 'prepared' || code === 'sending');
}

function stepsOf({ preparedAt, sendingAt, answeredAt, state, reason }: Attempt, facts: readonly Fact[]): Step[] {
  const isTold = facts.some(({ kind, code }) => kind === 'answer' || code === 'abandoned');
  return [
    { kind: 'prepared', at: preparedAt },
    ...(sendingAt === undefined ? [] : [{ kind: 'sending', at: sendingAt } as const]),
    ...(answeredAt === undefined || isTold ? [] : [{ kind: 'answered', at: answeredAt, state, reason } as const]),
  ];
}

/**
 * By time; within a millisecond in the order in which it must have happened: the steps of an
 * attempt, then facts.
 */
function inTime(steps: readonly Step[], facts: readonly Fact[]): Step[] {
  const all = [...steps, ...facts.map((fact) => ({ kind: 'fact', at: fact.at, fact }) as const)];
  return all.sort((a, b) => a.at.localeCompare(b.at)).reduce(withMisses, []);
}

/** Reads in a row that did not show it become one line. */
function withMisses(steps: Step[], step: Step): Step[] {
  if (step.kind !== 'fact' || step.fact.code !== 'missed') return [...steps, step];
  const { at, fact } = step;
  const last = steps.at(-1);
  if (last?.kind !== 'missed') return [...steps, { kind: 'missed', at, from: at, facts: [fact] }];
  return [...steps.slice(0, -1), { ...last, at, facts: [...last.facts, fact] }];
}
