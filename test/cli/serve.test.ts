import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { portsBesideAnother } from '../../src/cli/serve.ts';
import type { EffectiveValue } from '../../src/config/config.ts';
import type { Logger } from '../../src/observability/logger.ts';
import { cliIo } from '../support/rest/cli-io.ts';
import { silentLog } from '../support/runs/silent-log.ts';

type Source = EffectiveValue['source'];

/** The admin port of another program, which answers so; undefined: nothing listens there. */
async function otherAdminPort(body: string | undefined): Promise<number> {
  const server = createServer((_, response) => response.end(body));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = () => new Promise((resolve) => server.close(resolve));
  if (body === undefined) await close();
  else onTestFinished(async () => void (await close()));
  return port;
}

async function portsBeside(
  body: string | undefined,
  options: { admin?: Source; http?: Source; host?: string; log?: Logger } = {},
) {
  const { admin = 'default', http = 'default', host = '127.0.0.1', log = silentLog } = options;
  const adminPort = await otherAdminPort(body);
  const shown = (env: string, source: Source) => ({ env, source, shown: '', secret: false });
  const ports = { adminHost: host, adminPort, httpHost: host, httpPort: 8080 };
  const effective = [shown('TIDEMARK_ADMIN_PORT', admin), shown('TIDEMARK_HTTP_PORT', http)];
  return portsBesideAnother({ io: cliIo(), log }, ports, effective);
}

const live = '{"status":"live"}';

describe('a second service with the settings of the first', () => {
  it('takes free ports where no setting names them', async () => {
    expect(await portsBeside(live)).toEqual({ adminPort: 0, httpPort: 0 });
    expect(await portsBeside(live, { http: 'environment' })).toEqual({ adminPort: 0 });
  });

  it('keeps the ports that a setting names, and those of a host that others reach', async () => {
    expect(await portsBeside(live, { admin: 'environment' })).toEqual({});
    expect(await portsBeside(live, { host: '0.0.0.0' })).toEqual({});
  });

  it('keeps its ports where nothing answers, or another program does', async () => {
    expect(await portsBeside(undefined)).toEqual({});
    expect(await portsBeside('<html>')).toEqual({});
  });

  it('says which port is taken, and what to set', async () => {
    const lines: string[] = [];
    const log = pino({ level: 'warn' }, { write: (line) => void lines.push(line) });
    await portsBeside(live, { log });
    await portsBeside(live, { log, http: 'environment' });
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({
        address: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
        settings: ['TIDEMARK_ADMIN_PORT', 'TIDEMARK_HTTP_PORT'],
        msg: 'another Tidemark has this port: this one takes free ports in place of those that these settings name, which follow',
      }),
      expect.objectContaining({ settings: ['TIDEMARK_ADMIN_PORT'] }),
    ]);
  });
});
