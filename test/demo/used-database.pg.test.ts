import { describe, expect, it, onTestFinished } from 'vitest';
import { refuseUsedDatabase } from '../../src/demo/start-stack.ts';
import { silentLog } from '../support/runs/silent-log.ts';
import { emptyDatabase, freshDatabase } from '../support/servers/database.ts';
import { onServer } from '../support/servers/on-server.ts';

describe('issue: `tidemark demo` wrote made-up orders into the database of a real service.', () => {
  // Found by trying the commands as an operator would: `tidemark demo` in the shell of a service
  // put made-up orders into its database, and sent what waited there to topics of the demo. The
  // service's own topics lacked these updates for good.
  it('is refused where a service has run, and taken where none has', async () => {
    const empty = await emptyDatabase();
    onTestFinished(() => empty.drop());
    const migrated = await freshDatabase();
    onTestFinished(() => migrated.drop());
    await expect(refuseUsedDatabase(silentLog, empty.url)).resolves.toBeUndefined();
    await expect(refuseUsedDatabase(silentLog, migrated.url)).resolves.toBeUndefined();
    await onServer(migrated.url, (client) =>
      client.query(`insert into public.lanes (lane, holder, epoch, renewed_at) values (0, 'desk-1', 1, now())`),
    );
    await expect(refuseUsedDatabase(silentLog, migrated.url)).rejects.toMatchObject({
      code: 'DATABASE_USED',
      exitCode: 78,
    });
  });
});
