import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:tls';
import { expect, it, onTestFinished } from 'vitest';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { control, runningSandbox } from '../support/platform/sandbox.ts';
import { eventually } from '../support/runs/poll.ts';
import { nothingWrong, type RunningService, World } from '../support/runs/service-under-test.ts';
import { type Certificate, CertificateAuthority } from '../support/servers/certificates.ts';
import { freshDatabase } from '../support/servers/database.ts';

const name = 'moved.test';

/** In the process of the service: what the file says is the address of the name. */
const resolver = (file: string) => `import dns from 'node:dns'; import { readFileSync } from 'node:fs';
const lookup = dns.lookup;
dns.lookup = (host, options, callback = options) => {
  if (host !== '${name}') return lookup(host, options, callback);
  const address = readFileSync('${file}', 'utf8');
  if (options.all) callback(null, [{ address, family: 4 }]); else callback(null, address, 4);
};`;

interface Front {
  readonly port: number;
  /** Connections that were accepted. */
  readonly accepted: number;
  renew(certificate: Certificate): void;
  cut(): void;
  close(): void;
}

/** Stands before `target` at this address, over TLS where it has a certificate. */
async function front(host: string, port: number, target: number, certificate?: Certificate): Promise<Front> {
  const open = new Set<Socket>();
  let accepted = 0;
  const join = (client: Socket) => {
    accepted += 1;
    const server = connect({ host: '127.0.0.1', port: target });
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        open.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  };
  const pem = ({ key, cert }: Certificate) => ({ key: readFileSync(key), cert: readFileSync(cert) });
  const server: Server = certificate === undefined ? createServer(join) : createTlsServer(pem(certificate), join);
  server.on('tlsClientError', () => undefined);
  server.listen({ host, port });
  await once(server, 'listening');
  const front = {
    port: (server.address() as AddressInfo).port,
    get accepted() {
      return accepted;
    },
    renew: (renewed: Certificate) => (server as TlsServer).setSecureContext(pem(renewed)),
    cut: () => {
      for (const socket of open) socket.destroy();
    },
    close: () => {
      server.close();
      front.cut();
    },
  };
  onTestFinished(front.close);
  return front;
}

async function flowing(service: RunningService): Promise<void> {
  const labels = { topic: 'updates', result: 'acknowledged' };
  await service.waitLive();
  const before = await service.waitMetric('tidemark_publish_records_total', labels, 0);
  await service.waitMetric('tidemark_publish_records_total', labels, before + 100);
  await eventually(async () => expect((await service.ready()).code).toBe(200));
}

it('certificates of the platform that are renewed, and names of platform and database that lead elsewhere, under load: nothing is lost', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-names-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const authority = new CertificateAuthority(folder);
  const hosts = join(folder, 'address');
  writeFileSync(hosts, '127.0.0.1');
  writeFileSync(join(folder, 'resolver.mjs'), resolver(hosts));
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  const { description } = await runningSandbox({ market: { rate: 100, openOrders: 60, knownOrders: 80 } });
  const portOf = (address: string) => Number(new URL(address).port || 5432);
  const first = authority.sign('first', name);
  const platform = await front('127.0.0.1', 0, portOf(description.platform), first);
  const staging = await front('127.0.0.1', 0, portOf(description.staging), first);
  const postgres = await front('127.0.0.1', 0, portOf(database.url));
  const at = (address: string, { port }: Front) => {
    const url = new URL(address);
    url.host = `${name}:${port}`;
    return url.href.replace(/^(http|ws):/, '$1s:').replace(/\/$/, '');
  };
  const world = await World.create({
    databaseUrl: database.url,
    platform: {
      ...platformSettings(description),
      PLATFORM_URL: at(description.platform, platform),
      PLATFORM_STAGING_URL: at(description.staging, staging),
      PLATFORM_STREAM_URL: at(description.stream, platform),
      PLATFORM_STAGING_STREAM_URL: at(description.stagingStream, staging),
    },
  });
  const service = await world.serve({
    DATABASE_URL: at(database.url, postgres),
    NODE_EXTRA_CA_CERTS: authority.cert,
    NODE_OPTIONS: `--import=${join(folder, 'resolver.mjs')}`,
  });
  await flowing(service);

  const renewed = authority.sign('renewed', name);
  for (const one of [platform, staging]) {
    one.renew(renewed);
    one.cut();
  }
  await flowing(service);

  const fronts = [
    [platform, portOf(description.platform), authority.sign('moved', name)],
    [staging, portOf(description.staging), authority.sign('moved too', name)],
    [postgres, portOf(database.url), undefined],
  ] as const;
  const moved = await Promise.all(
    fronts.map(([{ port }, target, certificate]) => front('127.0.0.2', port, target, certificate)),
  );
  writeFileSync(hosts, '127.0.0.2');
  for (const [one] of fronts) one.close();
  await flowing(service);
  for (const { accepted } of moved) expect(accepted).toBeGreaterThan(0);

  await control(description, '/rate', { rate: 0 });
  await service.waitLive();
  expect(await world.resolvedProof(description)).toMatchObject(nothingWrong);
  expect(service.process.log().filter(({ level }) => level === 'fatal')).toEqual([]);
  expect(await service.stop()).toBe(0);
}, 240_000);
