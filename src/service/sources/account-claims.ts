/**
 * Decides which credential follows an account, when several may see it. Two followers would double
 * its load, and each would open an epoch when the platform lost its store.
 *
 * An account's states: free → tentative (known from an earlier run, not listed yet) → firm
 * (listed), and back to free. Invariant: at most one owner; a tentative owner gives way to
 * another's firm claim, and its `onEvicted` is called.
 */
export class AccountClaims {
  private readonly claims = new Map<
    string,
    { readonly owner: object; readonly firm: boolean; readonly onEvicted: () => void }
  >();

  /** True: the owner may follow the account. */
  claim(accountId: string, owner: object, firm: boolean, onEvicted: () => void): boolean {
    const claim = this.claims.get(accountId);
    if (claim !== undefined && claim.owner !== owner) {
      if (claim.firm || !firm) return false;
      claim.onEvicted();
    }
    this.claims.set(accountId, { owner, firm: firm || (claim?.owner === owner && claim.firm), onEvicted });
    return true;
  }

  isFirm(accountId: string, owner: object): boolean {
    const claim = this.claims.get(accountId);
    return claim?.owner === owner && claim.firm;
  }

  release(accountId: string, owner: object): void {
    if (this.claims.get(accountId)?.owner === owner) this.claims.delete(accountId);
  }

  releaseAll(owner: object): void {
    for (const [accountId, claim] of this.claims) if (claim.owner === owner) this.claims.delete(accountId);
  }
}
