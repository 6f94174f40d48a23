/** A user's consent to one client, given once: everything that is issued from one authorization code hangs on it and ends with it. */
export interface Login {
  readonly loginId: string;
  readonly clientId: string;
  readonly username: string;
  readonly scopes: ReadonlySet<string>;
}
