import { describe, expect, it } from 'vitest';
import { verdictRule } from '../../../src/domain/recompute-verdict.ts';
import { placeEquity } from '../../support/commands/command-rig.ts';

const of = { accountId: 'acct-1', orderId: 'o-1' } as const;
const place = placeEquity;
const cancel = { kind: 'cancel', stream: 'alpaca_paper', ...of } as const;
const replace = { kind: 'replace', stream: 'alpaca_paper', ...of, terms: { price: '1' } } as const;

describe('the rule of a verdict', () => {
  it('says of a place whether its venue has decided', () => {
    expect(verdictRule(place, { because: 'landed', state: 'accepted' })).toMatch(/not decided yet$/);
    expect(verdictRule(place, { because: 'landed', state: 'applied' })).toMatch(/has taken it$/);
  });

  it('says of a refusal by the venue what the order was', () => {
    expect(verdictRule(place, { because: 'venue_refused', state: 'rejected' })).toMatch(/rejected, without a fill$/);
    expect(verdictRule(cancel, { because: 'venue_refused', state: 'rejected' })).toMatch(/works on as it was$/);
  });

  it('never says that an answer proves what is unknown or open', () => {
    expect(verdictRule(place, { because: 'answer', state: 'unknown' })).toMatch(/^no answer says/);
    expect(verdictRule(place, { because: 'answer', state: 'open' })).toMatch(/no answer yet$/);
    expect(verdictRule(place, { because: 'answer', state: 'not_sent' })).toMatch(/^the answer of the platform says so/);
  });
});

describe('issue: A rejected replace at Alpaca was explained by a pending word that it never had.', () => {
  it('is explained by the order that carries its reference', () => {
    const rejected = { because: 'venue_refused', state: 'rejected' } as const;
    expect(verdictRule(replace, rejected)).toMatch(/rejected, without a fill$/);
    expect(verdictRule({ ...replace, stream: 'prediction' }, rejected)).toMatch(/works on as it was$/);
  });
});
