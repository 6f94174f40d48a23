import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../../../src/demo/devstack/free-port.ts';
import { GuardedProcess } from '../../../src/demo/devstack/guarded-process.ts';
import { kafkaUuid, smallClusterSettings, smallJvm } from '../../../src/demo/devstack/kafka-node.ts';
import { kafkaAnswers } from '../../../src/demo/devstack/running-kafka.ts';
import { kafkaImage } from '../../../src/demo/devstack/start-embedded-kafka.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { eventually } from '../runs/poll.ts';
import { testLog } from '../runs/test-log.ts';
import { cacheDir } from './cache-dir.ts';
import { type Certificate, CertificateAuthority } from './certificates.ts';

/** A broker as in earnest: TLS, users, and nothing allowed that nobody granted. */
export interface SecuredKafka {
  /** SASL_SSL, each of the three mechanisms. */
  readonly sasl: string;
  /** SSL that asks for a certificate; its CN is the user. */
  readonly mutualTls: string;
  /** Without TLS, as a user who may do anything: for the test itself. */
  readonly open: string;
  /** Path of the authority's certificate. */
  readonly authority: string;
  clientCertificate(user: string): Certificate;
  stop(): Promise<void>;
}

const mechanisms = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const;

/** Starts one with these users and passwords, the same for every mechanism. 4 s. */
export async function startSecuredKafka(users: Readonly<Record<string, string>>): Promise<SecuredKafka> {
  const deps = { clock: systemClock, log: testLog };
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-secured-kafka-'));
  const image = await kafkaImage(deps, { cacheDir });
  const authority = new CertificateAuthority(folder);
  const [sasl, mutualTls, open, controller] = await Promise.all([freePort(), freePort(), freePort(), freePort()]);
  const ports = { SASL: sasl, MUTUAL: mutualTls, OPEN: open, CONTROLLER: controller };
  const settings = join(folder, 'server.properties');
  mkdirSync(join(folder, 'data'));
  writeFileSync(
    settings,
    properties({ ports, users, keys: authority.sign('broker').both, authority: authority.cert, folder }),
  );
  const java = ['-cp', image.classPath, ...smallJvm, `-XX:SharedArchiveFile=${image.classArchive}`] as const;
  const scram = mechanisms
    .slice(1)
    .flatMap((mechanism) =>
      Object.entries(users).flatMap(([name, password]) => [
        '--add-scram',
        `${mechanism}=[name=${name},password=${password}]`,
      ]),
    );
  const format = ['kafka.tools.StorageTool', 'format', '-t', kafkaUuid(), '-c', settings, ...scram];
  await promisify(execFile)('java', [...java, ...format], { timeout: 60_000 });

  const lines: string[] = [];
  const broker = await GuardedProcess.start(deps, {
    ...{ name: 'secured kafka', folder, stopSignal: 'KILL', patienceMs: 20_000 },
    command: ['java', ...java, 'kafka.Kafka', settings],
    onLine: (line) => lines.push(line),
  });
  const answers = async () => {
    if ((await kafkaAnswers({ host: '127.0.0.1', port: open }, 2_000)) < 1)
      throw new Error(lines.slice(-30).join('\n'));
  };
  await eventually(answers, { deadlineMs: 60_000, everyMs: 100 });
  return {
    ...{
      sasl: `127.0.0.1:${sasl}`,
      mutualTls: `127.0.0.1:${mutualTls}`,
      open: `127.0.0.1:${open}`,
      authority: authority.cert,
    },
    clientCertificate: (user) => authority.sign(user),
    stop: () => broker.stop(),
  };
}

interface Plan {
  readonly ports: Readonly<Record<'SASL' | 'MUTUAL' | 'OPEN' | 'CONTROLLER', number>>;
  readonly users: Readonly<Record<string, string>>;
  readonly keys: string;
  readonly authority: string;
  readonly folder: string;
}

function properties({ ports, users, keys, authority, folder }: Plan): string {
  const at = (names: readonly (keyof Plan['ports'])[]) =>
    names.map((name) => `${name}://127.0.0.1:${ports[name]}`).join(',');
  const passwords = Object.entries(users).map(([name, password]) => `user_${name}="${password}"`);
  const scram = 'org.apache.kafka.common.security.scram.ScramLoginModule required;';
  const settings = {
    ...smallClusterSettings(1),
    'process.roles': 'broker,controller',
    'node.id': 1,
    'controller.quorum.voters': `1@127.0.0.1:${ports.CONTROLLER}`,
    'controller.listener.names': 'CONTROLLER',
    listeners: at(['SASL', 'MUTUAL', 'OPEN', 'CONTROLLER']),
    'advertised.listeners': at(['SASL', 'MUTUAL', 'OPEN']),
    'listener.security.protocol.map': 'SASL:SASL_SSL,MUTUAL:SSL,OPEN:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'inter.broker.listener.name': 'OPEN',
    'log.dirs': join(folder, 'data'),
    'sasl.enabled.mechanisms': mechanisms.join(','),
    'listener.name.sasl.plain.sasl.jaas.config': `org.apache.kafka.common.security.plain.PlainLoginModule required ${passwords.join(' ')};`,
    'listener.name.sasl.scram-sha-256.sasl.jaas.config': scram,
    'listener.name.sasl.scram-sha-512.sasl.jaas.config': scram,
    'ssl.keystore.type': 'PEM',
    'ssl.keystore.location': keys,
    'ssl.truststore.type': 'PEM',
    'ssl.truststore.location': authority,
    'listener.name.mutual.ssl.client.auth': 'required',
    'ssl.principal.mapping.rules': 'RULE:^CN=(.*)$/$1/',
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    'allow.everyone.if.no.acl.found': false,
    'super.users': 'User:ANONYMOUS',
  };
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}
