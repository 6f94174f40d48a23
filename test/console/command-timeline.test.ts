import { describe, expect, it } from 'vitest';
import { factDetail, factText } from '../../src/console/parts/command-words.ts';
import { type Step, timelineOf } from '../../src/console/state/commands/command-timeline.ts';
import { ageText } from '../../src/console/state/text/age-text.ts';
import { termsText } from '../../src/domain/terms-text.ts';
import { factOf, historyOf } from './command-history.ts';

const attemptId = 'tm-1';
const words = (step: Step) => (step.kind === 'fact' ? step.fact.code : step.kind);

describe('the timeline of a command', () => {
  it('is grouped by attempt, with each step once, by time', () => {
    const evidence = [
      factOf(0, 'note', 'prepared', { attemptId }),
      factOf(1, 'note', 'sending', { attemptId }),
      factOf(2, 'answer', 'unknown', { attemptId }),
      factOf(4, 'read', 'missed'),
      factOf(8, 'read', 'missed'),
      factOf(9, 'update', 'landed', { attemptId }),
    ];
    const groups = timelineOf(historyOf({ evidence }));
    expect(groups.map(({ name, steps }) => [name, ...steps.map(words)])).toEqual([
      ['asked', 'asked'],
      ['attempt', 'prepared', 'sending', 'unknown', 'missed', 'landed'],
    ]);
    expect(groups[1]?.steps[3]).toMatchObject({ from: evidence[3]?.at, at: evidence[4]?.at, facts: [{}, {}] });
  });

  it('shows the end of an attempt that no answer ended', () => {
    const evidence = [factOf(3, 'note', 'taken_over', { attemptId, detail: { was: 'sending' } })];
    const [, attempt] = timelineOf(historyOf({ evidence }));
    expect(attempt?.steps.map(words)).toEqual(['prepared', 'sending', 'answered', 'taken_over']);
  });

  it('keeps apart reads with another fact between them', () => {
    const evidence = [factOf(4, 'read', 'missed'), factOf(5, 'note', 'escalated'), factOf(6, 'read', 'missed')];
    expect(timelineOf(historyOf({ evidence }))[1]?.steps.map(words).slice(3)).toEqual([
      'missed',
      'escalated',
      'missed',
    ]);
  });

  it('puts a fact that names no attempt with the attempt of its time', () => {
    const [first] = historyOf().attempts;
    const second = { ...first, attemptId: 'tm-2', number: 2, preparedAt: '2026-11-21T15:00:05.000Z' } as typeof first;
    const attempts = [first, second].filter((attempt) => attempt !== undefined);
    const groups = timelineOf(
      historyOf({ attempts, evidence: [factOf(3, 'note', 'escalated'), factOf(6, 'read', 'missed')] }),
    );
    const kinds = groups.map(({ steps }) =>
      steps.map(words).filter((word) => word === 'escalated' || word === 'missed'),
    );
    expect(kinds).toEqual([[], ['escalated'], ['missed']]);
  });

  it('shows a command that was refused before there was an attempt', () => {
    const groups = timelineOf(historyOf({ attempts: [], evidence: [factOf(0, 'note', 'refused')] }));
    expect(groups.map(({ name, steps }) => [name, ...steps.map(words)])).toEqual([
      ['asked', 'asked'],
      ['since', 'refused'],
    ]);
  });
});

describe('a fact in words', () => {
  const said = { what: 'evidence', ...factOf(2, 'answer', 'unknown') } as const;

  it('names the answer with the status of the platform', () => {
    const reason = { code: 'TIMEOUT', message: 'no answer', status: 504 };
    expect([factText(said), factDetail({ ...said, detail: { reason } })]).toEqual([
      'No answer says what became of it',
      'no answer (TIMEOUT, 504)',
    ]);
  });

  it('names the person who resolved it, with the reason', () => {
    const person = {
      ...said,
      kind: 'person',
      code: 'resolved',
      detail: { by: 'ann', result: 'not_sent', reason: 'asked them' },
    } as const;
    expect([factText(person), factDetail(person)]).toEqual(['ann resolved it as not sent', 'asked them']);
  });

  it('keeps the code of a fact that it does not know', () => {
    expect(factText({ ...said, kind: 'note', code: 'brand_new' })).toBe('note: brand new');
  });
});

it('shows terms in the words of the trade, each decimal as it is', () => {
  expect(termsText('place', historyOf().terms)).toBe('buy 10 AAPL limit at 187.5, day');
  expect(termsText('replace', { quantity: '0.000000000000000001', price: '0.42' })).toBe(
    'to 0.000000000000000001 at 0.42',
  );
  expect(termsText('cancel')).toBe('cancel the order');
});

it('shows an age in two words at most', () => {
  expect([900, 61_000, 3_700_000, 180_000_000].map(ageText)).toEqual(['0 s', '1 min 1 s', '1 h 1 min', '2 d 2 h']);
});
