import type { Random } from '../../../src/runtime/random.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import type { StoredToken } from '../../../src/runtime/token-store.ts';
import { keysOf } from '../../../src/sandbox/alpaca/api-keys.ts';
import type { ExchangeAccount } from '../../../src/sandbox/exchange/exchange-order.ts';
import { below, happens, oneOf } from '../../../src/sandbox/market/instruments.ts';
import { pairRefused } from '../../../src/venue/alpaca/key-source.ts';
import { keyName, keyOfPair, storedKeySource, tokenOfKey } from '../../../src/venue/key-source.ts';
import { RequestBudget } from '../../../src/venue/request-budget.ts';
import type { Host } from '../host.ts';
import type { SimulatedWorld } from '../simulated-world.ts';
import { alpacaName } from '../venues/alpaca-stream.ts';

/** A user thinks of the link that is missing at the latest after this. */
const latestMs = 8_000;

/**
 * Linked key pairs, in the store that all processes read, and users who end them, remove them, and
 * link others in the middle of a run. An account without one is followed by no process meanwhile.
 */
export class LinkedKeys {
  private readonly stored = new Map<string, StoredToken>();
  private readonly world: SimulatedWorld;
  private readonly random: Random;

  constructor(world: SimulatedWorld, random: Random) {
    this.world = world;
    this.random = random;
    for (const account of world.platform.accounts) this.link(account);
  }

  /** The store, and a login by its name, as one process reaches them. */
  of(host: Host) {
    const read = <T>(look: () => T): Promise<T> => {
      const { clock, database } = this.world;
      const answer = clock.sleep(2).then(() => {
        if (database.down) throw new Error('the database is away');
        return look();
      });
      return host.answer(answer);
    };
    return {
      prefix: keyName(alpacaName, ''),
      stored: () => read(() => [...this.stored].map(([credential, { generation }]) => ({ credential, generation }))),
      tokensOf: async (credential: string) => {
        const load = () => read(() => this.stored.get(credential));
        // A new budget knows nothing of the venue's count, and learns it by one request.
        this.world.platform.limit.forget(host, `PK${credential.slice(keyName(alpacaName, '').length)}`);
        return storedKeySource(host.clock, load, pairRefused, new RequestBudget(host.clock));
      },
    };
  }

  /** Until `goesOn` says no. */
  begin(goesOn: () => boolean, everyMs: number): void {
    if (!goesOn()) return;
    this.act(oneOf(this.random, this.world.platform.accounts));
    this.world.clock.after(this.random.next() * everyMs * 2, () => this.begin(goesOn, everyMs));
  }

  /** Each account has its present key pair again. */
  heal(): void {
    for (const account of this.world.platform.accounts) this.link(account);
  }

  private act(account: ExchangeAccount): void {
    const { clock, trace } = this.world;
    const act = below(this.random, 3);
    trace.add('user', ['ends the key of', 'removes the key of', 'ends and removes the key of'][act] ?? '', account.id);
    if (act !== 1) account.keyNumber = (account.keyNumber ?? 1) + 1;
    if (act !== 0) this.stored.delete(keyName(alpacaName, account.id));
    const inMs = happens(this.random, 0.3) ? 0 : this.random.next() * latestMs;
    clock.after(inMs, () => this.link(account));
  }

  private link(account: ExchangeAccount): void {
    const name = keyName(alpacaName, account.id);
    const { keyId, secretKey } = keysOf(account);
    const generation = (this.stored.get(name)?.generation ?? 0) + 1;
    this.world.trace.add('user', 'links', `${name} ${generation}`);
    this.stored.set(name, { ...tokenOfKey(keyOfPair({ keyId, secretKey: new Secret(secretKey) })), generation });
  }
}
