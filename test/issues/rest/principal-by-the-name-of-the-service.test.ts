// What a user saw: A principal could be named `tidemark`, and its halts looked like those of the service.

import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runProgram } from '../../../src/cli/program.ts';
import { parseStaticTokens } from '../../../src/config/option.ts';
import { isReservedName } from '../../../src/domain/reserved-name.ts';
import { StaticTokens } from '../../../src/service/rest/auth/static-tokens.ts';
import { cliIo } from '../../support/rest/cli-io.ts';
import { sha256 } from '../../support/rest/rest-rig.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

describe.each(['tidemark', 'Tidemark', 'TIDEMARK', 'loopback', 'Loopback'])('a principal %s', (name) => {
  it('gets no token', async () => {
    const io = cliIo({ DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' });
    await runProgram(io, ['token', 'add', name, '--scopes', 'orders:read', '--all-accounts']);
    expect([io.code(), io.out()]).toEqual([64, '']);
    expect(io.err()).toContain('principal');
  });

  it('is no configured one', () => {
    expect(parseStaticTokens(`${name}:${'0'.repeat(64)}:orders:read:*`)).toEqual({ wrong: 1, count: 1 });
  });

  it('does not come in by a row of the database', async () => {
    const row = { sha256: sha256('t'), scopes: ['orders:read'], accounts: 'all' as const };
    const active = async () => [
      { ...row, name },
      { ...row, name: 'tidemark-desk', sha256: sha256('u') },
    ];
    const tokens = new StaticTokens(
      { clock: new VirtualClock(), log: silentLog, store: { active } },
      { configured: [], refreshEveryMs: 1_000 },
    );
    await tokens.start();
    expect(tokens.find('t')).toBeUndefined();
    expect(tokens.find('u')).toMatchObject({ name: 'tidemark-desk' });
    tokens.stop();
  });
});

it('every name under which the service writes an action is one that no principal can have', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  const words = files
    .filter((file) => !/^(?:sandbox|console|service\/rest\/documents|demo)\//.test(file))
    .flatMap((file) =>
      [...readFileSync(`src/${file}`, 'utf8').matchAll(/(?:\bby(?:: | = )|principalOf\()'([^']+)'/g)].map(
        ([, word = '']) => word,
      ),
    )
    // Words for what a probe asked by.
    .filter((word) => !['reference', 'order', 'account', 'kafka', 'postgres'].includes(word));
  expect(words.length).toBeGreaterThan(2);
  // A name with a blank is none that a token can have.
  expect(words.filter((word) => !word.includes(' ') && !isReservedName(word))).toEqual([]);
});
