/** Who may use REST by a token that is written down in the configuration: by the hash of it, so that the configuration gives no token away. */
export interface StaticToken {
  /** The name of the principal: in the journal, in the audit trail. Several tokens of one name are one caller, which owns its idempotency keys. */
  readonly name: string;
  /** SHA-256 of the token, 64 hexadecimal digits in lower case. */
  readonly sha256: string;
  readonly scopes: readonly string[];
  readonly accounts: 'all' | readonly string[];
  /** Absent: it has no end. */
  readonly expiresAtMs?: number;
}

const scope = '(?:orders|ops):(?:read|write)';
const account = '[\\x21-\\x29\\x2b\\x2d-\\x3a\\x3c-\\x7e]{1,50}';
const entry = new RegExp(
  `^(?<name>[A-Za-z0-9._-]{1,64})(?:@(?<ends>\\d{4}-\\d{2}-\\d{2}))?:(?<sha256>[0-9A-Fa-f]{64}):(?<scopes>${scope}(?:,${scope})*):(?<accounts>\\*|${account}(?:,${account})*)$`,
);

/**
 * `name:sha256:scopes:accounts`, or `name@2027-01-31:…` for one that ends as that day begins (UTC); several separated by blanks, line ends or semicolons. Returns the
 * number of the first entry that is wrong, is named `loopback`, or uses a hash again.
 */
export function parseStaticTokens(text: string): readonly StaticToken[] | { readonly wrong: number; readonly count: number } {
  const entries = text.split(/[\s;]+/).filter((part) => part !== '');
  const tokens: StaticToken[] = [];
  for (const [index, part] of entries.entries()) {
    const token = parseEntry(part);
    const taken = tokens.some(({ sha256 }) => sha256 === token?.sha256);
    if (token === undefined || taken) return { wrong: index + 1, count: entries.length };
    tokens.push(token);
  }
  return Object.freeze(tokens);
}

function parseEntry(text: string): StaticToken | undefined {
  const { name = '', ends, sha256 = '', scopes = '', accounts = '' } = entry.exec(text)?.groups ?? {};
  // `loopback` is the name of every caller where there is no sign-in.
  if (name === '' || name === 'loopback') return undefined;
  const expiresAtMs = ends === undefined ? undefined : Date.parse(ends);
  if (Number.isNaN(expiresAtMs)) return undefined;
  return {
    name,
    sha256: sha256.toLowerCase(),
    scopes: scopes.split(','),
    accounts: accounts === '*' ? 'all' : accounts.split(','),
    ...(expiresAtMs !== undefined && { expiresAtMs }),
  };
}
