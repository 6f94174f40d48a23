import { readFileSync } from 'node:fs';

export interface UnprivilegedUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/**
 * Postgres refuses to run as root. Root therefore starts it as `postgres` where the machine has that user, else as `nobody`, which
 * every machine has: a user made for the purpose would stay behind on the developer's machine. Undefined when we are not root.
 */
export function unprivilegedUser(): UnprivilegedUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  for (const name of ['postgres', 'nobody']) {
    const [, , uid, gid] = users.find((fields) => fields[0] === name) ?? [];
    if (uid !== undefined && gid !== undefined) return { name, uid: Number(uid), gid: Number(gid) };
  }
  return undefined;
}
