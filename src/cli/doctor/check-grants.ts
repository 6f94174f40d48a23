import type { Pool } from 'pg';
import { type AppGrant, missingAppGrants } from '../../store/app-grants.ts';
import { type Finding, fail, ok } from './finding.ts';

/** Each right that the migrations gave tidemark_app and that it has no more, one line an object, with the GRANT that gives it back. */
export async function checkGrants(pool: Pool): Promise<Finding[]> {
  const missing = await missingAppGrants(pool);
  if (missing.length === 0) return [ok('grants', 'tidemark_app has every right that the service uses')];
  return [...byObject(missing)].map(([on, privileges]) =>
    fail(
      'grants',
      `tidemark_app may not ${privileges.join(', ')} on ${on.replace(/^FUNCTION /, 'function ').replace(/^SCHEMA /, 'schema ')}`,
      `As the owner: GRANT ${privileges.join(', ')} ON ${on} TO tidemark_app;`,
    ),
  );
}

function byObject(grants: readonly AppGrant[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { on, privilege } of grants) found.set(on, [...(found.get(on) ?? []), privilege]);
  return found;
}
