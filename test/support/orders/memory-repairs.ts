import type { AccountRepair, AccountRepairs, NewAccountRepair } from '../../../src/store/account-repairs.ts';

const requestedMs = 1_795_000_000_000;

/** The requests for reads in memory, of accounts that are followed on one stream. */
export class MemoryRepairs implements AccountRepairs {
  readonly asked: NewAccountRepair[] = [];
  followed: ReadonlySet<string> = new Set(['ACC-1']);
  mostOpen = 10;

  async ask(asked: NewAccountRepair): ReturnType<AccountRepairs['ask']> {
    if (!this.followed.has(asked.accountId)) return 'not_followed';
    if (this.asked.length >= this.mostOpen) return 'too_many';
    this.asked.push(asked);
    return [repairOf(asked, this.asked.length)];
  }

  async list(accountId: string, limit: number): Promise<readonly AccountRepair[]> {
    const all = this.asked.map((asked, i) => ({ accountId: asked.accountId, repair: repairOf(asked, i + 1) }));
    const own = all.filter((each) => each.accountId === accountId).reverse();
    return own.slice(0, limit).map(({ repair }) => repair);
  }
}

function repairOf({ accountId: _accountId, ...asked }: NewAccountRepair, number: number): AccountRepair {
  return { ...asked, id: BigInt(number), stream: asked.stream ?? 'account', requestedMs };
}
