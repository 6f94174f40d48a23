import { describe, expect, it } from 'vitest';
import { proofStatementMs } from '../../src/demo/proof/prove-run.ts';
import { createPool } from '../../src/store/session/pool.ts';
import { testLog } from '../support/runs/test-log.ts';
import { freshDatabase } from '../support/servers/database.ts';

describe('issue: The proof of a demo failed when its log had 300,000 updates: its read took too long.', () => {
  /** Longer than the service lets a statement take: 4 s on the server, 5 s in the client. */
  const slowSeconds = 5.5;

  it('lets a statement of the proof read for longer than one of the service may: 300,000 updates took more than 4 s, and the proof failed', async () => {
    await using database = await freshDatabase();
    const options = { url: database.url, applicationName: 'test', maxConnections: 1 };
    const pool = createPool({ log: testLog }, { ...options, statementMs: proofStatementMs });
    try {
      expect((await pool.query(`select pg_sleep(${slowSeconds})`)).rowCount).toBe(1);
      expect((await pool.query('show statement_timeout')).rows).toEqual([{ statement_timeout: '5min' }]);
    } finally {
      await pool.end();
    }
  });
});
