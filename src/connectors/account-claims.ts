/**
 * Which credential follows an account, where several may see it: two of them on one account would double its load, and each would open an epoch of its own
 * when the platform lost its store.
 *
 * States of an account: free → tentative (known from an earlier run, not listed yet) → firm (listed), and back to free. Invariant: at most one owner; a
 * tentative one gives way to another's firm claim and is told so.
 */
export class AccountClaims {
  private readonly claims = new Map<string, { readonly owner: object; readonly firm: boolean; readonly onEvicted: () => void }>();

  /** True: the account is the owner's to follow. */
  take(accountId: string, owner: object, firm: boolean, onEvicted: () => void): boolean {
    const claim = this.claims.get(accountId);
    if (claim !== undefined && claim.owner !== owner) {
      if (claim.firm || !firm) return false;
      claim.onEvicted();
    }
    this.claims.set(accountId, { owner, firm: firm || (claim?.owner === owner && claim.firm), onEvicted });
    return true;
  }

  release(accountId: string, owner: object): void {
    if (this.claims.get(accountId)?.owner === owner) this.claims.delete(accountId);
  }

  releaseAll(owner: object): void {
    for (const [accountId, claim] of this.claims) if (claim.owner === owner) this.claims.delete(accountId);
  }
}
