import type { CommandHistory } from '../../src/contract/rest-answers.ts';
import type { CommandResult } from '../../types/records.d.ts';

const attempt = {
  attemptId: 'tm-1',
  number: 1,
  state: 'unknown',
  epoch: '7',
  preparedAt: '2026-11-21T15:00:00.000Z',
  sendingAt: '2026-11-21T15:00:00.010Z',
  answeredAt: '2026-11-21T15:00:02.000Z',
  reason: { code: 'REQUEST_OUTCOME_UNKNOWN', message: 'it may have reached the venue', status: 504 },
} as const;

type Fact = CommandHistory['evidence'][number];

/**
 * A place with a 504, as REST shows it: unknown unless the test says
 * otherwise. `evidence` is in the timeline too.
 */
export function historyOf(over: Partial<CommandHistory> = {}): CommandHistory {
  const evidence: readonly Fact[] = over.evidence ?? [];
  return {
    commandId: '4f7c1d1e-1111-4222-8333-444455556666',
    kind: 'place',
    stream: 'account',
    accountId: 'ACC-1',
    result: 'unknown',
    state: 'unknown',
    unresolved: true,
    presumedAbsent: false,
    terms: { symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '10', price: '187.5', timeInForce: 'DAY' },
    principal: 'desk',
    idempotencyKey: 'key-1',
    version: 3,
    misses: 0,
    createdAt: '2026-11-21T15:00:00.000Z',
    updatedAt: '2026-11-21T15:00:02.000Z',
    deadlineAt: '2026-11-21T15:00:05.000Z',
    attempts: [{ ...attempt }],
    evidence: [],
    recomputed: {
      state: 'unknown',
      because: 'answer',
      rule: 'no answer says what became of it',
      agrees: true,
      complete: true,
    },
    timeline: evidence.map((fact) => ({ what: 'evidence', ...fact })),
    links: { self: '/v1/commands/4f7c1d1e-1111-4222-8333-444455556666' },
    ...over,
  };
}

/** A fact of that place; `attemptId` only where it is given. */
export function factOf(number: number, kind: Fact['kind'], code: string, over: Partial<Fact> = {}): Fact {
  const at = `2026-11-21T15:00:${String(number).padStart(2, '0')}.000Z`;
  return { number, kind, code, at, detail: {}, ...over };
}

/** A step of a command as the stream carries it. */
export function resultOf(over: Partial<CommandResult> = {}): CommandResult {
  const { commandId, kind, stream, accountId, terms, createdAt } = historyOf();
  return {
    ...{ commandId, kind, stream, accountId, createdAt, at: createdAt, attempts: [], terms: { ...terms } },
    eventId: 'e',
    schema: 'tidemark.command-result.v1',
    version: 4,
    result: 'applied',
    state: 'applied',
    ...over,
  };
}
