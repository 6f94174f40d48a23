import { describe, expect, it, onTestFinished } from 'vitest';
import { VenueSources } from '../../../src/service/sources/venue-sources.ts';
import { platformVenue } from '../../../src/venue/platform/platform-venue.ts';
import { unreadAccount } from '../../support/commands/unread-account.ts';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';

describe('issue: Without `alpaca` in VENUES, its orders stayed as they were, and all was trusted.', () => {
  it('names the accounts that the database has at a venue that is not followed', async () => {
    const stream = 'alpaca_paper' as const;
    const { clock, connectors, registry } = connectorsRig({ ofVenue: [stream], streamUrls: {} });
    await connectors.remove('client');
    await registry.save(unreadAccount('acct-1', { stream }));
    await registry.save(unreadAccount('acct-1'));
    const sources = new VenueSources([], connectors);
    await sources.begin();
    onTestFinished(() => sources.end());
    await clock.advance(40_000);
    expect(sources.unfollowed).toMatchObject([
      { stream, accountId: 'acct-1', why: 'this process has no address of its stream' },
    ]);
    // It is no venue for commands.
    expect(sources.streams).toEqual([]);
    expect(sources.hasListed).toBe(true);
  });
});

it('offers a spare stream while it has a login, and no longer', async () => {
  const one = connectorsRig({ ofVenue: ['alpaca_paper'], streamUrls: {} }).connectors;
  const spare = connectorsRig({ ofVenue: ['alpaca'], streamUrls: {}, spare: true }).connectors;
  const sources = new VenueSources([one, spare], connectorsRig({ ofVenue: [], streamUrls: {} }).connectors);
  expect(sources.streams).toEqual(['alpaca_paper', 'alpaca']);
  for (const connectors of [one, spare]) await connectors.remove('client');
  expect(sources.streams).toEqual(['alpaca_paper']);
});

describe('issue: A venue that never answered, beside another whose accounts are live, was trusted.', () => {
  it('names the streams of a venue whose accounts are not known', async () => {
    const rig = connectorsRig({ ofVenue: ['prediction'], streamUrls: { prediction: 'ws://prediction' } });
    const { clock, platform, registry } = rig;
    const away = { kind: 'temporary', message: 'the platform is away' } as never;
    platform.accountsError = away;
    const left = connectorsRig({ ofVenue: [], streamUrls: {} }).connectors;
    await left.remove('client');
    const sources = new VenueSources([rig.connectors], left);
    expect(sources.unlisted).toEqual([]);
    await sources.begin();
    onTestFinished(() => sources.end());
    await clock.advance(60_000);
    expect(sources.unlisted).toEqual(['prediction']);
    platform.accountsError = undefined;
    await clock.advance(60_000);
    expect(registry.records.size).toBeGreaterThan(0);
    expect(sources.unlisted).toEqual([]);
    // An account that is known says itself how it stands.
    platform.accountsError = away;
    await clock.advance(90_000);
    expect(sources.unlisted).toEqual([]);
  });
});

describe('issue: No order was placed at a venue where another one had closed an account of the same name.', () => {
  it('says of each stream how its own venue lists the account', async () => {
    const one = connectorsRig({ streamUrls: { account: 'ws://account' } });
    const streamUrls = { alpaca_paper: 'ws://alpaca' };
    const other = connectorsRig({ streamUrls }, undefined, undefined, { alpaca_paper: platformVenue.account });
    one.platform.accounts = [{ accountId: 'acct-1', isOpen: false, status: 'CLOSED' }];
    const left = connectorsRig({ ofVenue: [], streamUrls: {} }).connectors;
    await left.remove('client');
    const sources = new VenueSources([one.connectors, other.connectors], left);
    await sources.begin();
    onTestFinished(() => sources.end());
    for (const { clock } of [one, other]) await clock.advance(5_000);
    expect(sources.standing('account', 'acct-1')).toMatchObject({ isOpen: false, status: 'CLOSED' });
    expect(sources.standing('alpaca_paper', 'acct-1')).toMatchObject({ isOpen: true });
  });
});
