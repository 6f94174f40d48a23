/** libpq's words for a server that takes writes. The service asks for one in any case. */
const takesWrites = new Set(['read-write', 'primary']);
/** Those `pg` knows. Any other one it would pass over, and connect without TLS. */
const sslModes = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];

/**
 * Why `DATABASE_URL` can't be used, although libpq would take it; continues a sentence, and quotes
 * nothing from the address but a misspelt `sslmode`. `pg` knows no list of hosts: it would take
 * `one,two` as one host's name and never find it. It also passes over `target_session_attrs`.
 *
 * Lists are not supported here either. A list's primary is found only by trying. A name or an
 * address that follows the primary costs nothing, and every managed database offers one.
 */
export function databaseAddressProblem(value: string): string | undefined {
  const [, rest = ''] = value.split('://');
  const authority = rest.split(/[/?#]/, 1)[0] ?? '';
  const query = new URLSearchParams(rest.split('?')[1] ?? '');
  const hosts = [
    authority.slice(authority.lastIndexOf('@') + 1),
    query.get('host'),
    query.get('hostaddr'),
    query.get('port'),
  ];
  if (hosts.some((host) => host?.includes(',')))
    return 'must name one host: a list of hosts is not supported; name an address that follows the primary (a virtual address, a DNS name, a proxy)';
  const wanted = query.get('target_session_attrs');
  if (wanted !== null && !takesWrites.has(wanted))
    return 'must not ask for a server that takes no writes: leave target_session_attrs out, the service uses none but a primary';
  if (!isEncoded(authority.slice(0, Math.max(0, authority.lastIndexOf('@')))))
    return 'must not have a bare % in its user or password: write %25 for it';
  const mode = query.get('sslmode');
  if (mode !== null && !sslModes.includes(mode)) {
    const shown = /^[a-z_-]{1,20}$/i.test(mode) ? ` "${mode}"` : '';
    return `must not have the sslmode${shown}, with which nothing would be encrypted: it is one of ${sslModes.join(', ')}; verify-full also checks who answers`;
  }
  return undefined;
}

/** `pg` ends with an error of its own for anything else. */
function isEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
