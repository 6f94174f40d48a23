import { describe, expect, it } from 'vitest';
import type { Principal } from '../../../src/sandbox/auth/directory.ts';
import { Exchange } from '../../../src/sandbox/exchange/exchange.ts';
import { castOf, defaultCast, registerCast } from '../../../src/sandbox/register-cast.ts';
import { sandboxOptions } from '../../../src/sandbox/sandbox-options.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

function registered() {
  const exchange = new Exchange({ clock: new VirtualClock(), onChange: () => {} }, { maxOrders: 10 });
  return registerCast(exchange, castOf(sandboxOptions.parse({})));
}

const as = (clientId: string, username?: string): Principal => ({
  clientId,
  ...(username === undefined ? {} : { username }),
  scopes: new Set(),
  tokenId: 't',
  expiresAtMs: 0,
});
const idsOf = (accounts: readonly { id: string }[]) => accounts.map(({ id }) => id);

describe('who sees which account', () => {
  it('a user sees their own, whatever the client may see', () => {
    const directory = registered();
    expect(idsOf(directory.accountsOf(as('sandbox-desk', 'bob')))).toEqual(['SIM-1003']);
    expect(idsOf(directory.accountsOf(as('sandbox-app', 'carol')))).toEqual(['SIM-9001']);
    expect(directory.accountFor(as('sandbox-desk', 'bob'), 'SIM-1001')).toEqual({ access: 'foreign' });
  });

  it('a client sees those of its users, and a client without users none', () => {
    const directory = registered();
    expect(idsOf(directory.accountsOf(as('sandbox-desk')))).toEqual(['SIM-1001', 'SIM-1002', 'SIM-1003']);
    expect(directory.accountsOf(as('sandbox-app'))).toEqual([]);
    expect(directory.accountsOf(as('nobody'))).toEqual([]);
    expect(directory.accountFor(as('sandbox-desk'), 'SIM-9001')).toEqual({ access: 'foreign' });
    expect(directory.accountFor(as('sandbox-desk'), 'SIM-0')).toEqual({ access: 'unknown' });
  });

  it.each([2, 3, 4, 10, 8001, 10_000])(
    'the usual cast has %d accounts that the client may see, of both kinds, each id once',
    (count) => {
      const { users } = defaultCast(count);
      const accounts = users.flatMap((user) => (user.username === 'carol' ? [] : user.accounts));
      expect(accounts).toHaveLength(count);
      const everybodys = users.flatMap((user) => idsOf(user.accounts));
      expect(new Set(everybodys).size).toBe(count + 1);
      expect(new Set(accounts.map(({ predictions }) => predictions))).toEqual(new Set([true, false]));
    },
  );
});
