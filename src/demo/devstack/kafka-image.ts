import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Logger } from '../../observability/logger.ts';
import type { Clock } from '../../runtime/clock.ts';
import { makeTemporaryFolder } from '../../runtime/temporary-folder.ts';
import { cachedFolder } from './cached-folder.ts';
import { freePort } from './free-port.ts';
import { javaVersion, type KafkaJars, kafkaJars, kafkaVersion, lookupEnv, type ProgramLookup } from './kafka-jars.ts';
import { KafkaNode, kafkaUuid, smallJvm, writeKafkaNodeFiles } from './kafka-node.ts';

const run = promisify(execFile);

/** Everything a broker is started from; the same for every broker on this machine. */
export interface KafkaImage {
  readonly classPath: string;
  readonly bootstrapCheckpoint: string;
  /**
   * The classes of an earlier broker, in the virtual machine's own form: 0.5 s of CPU less at each
   * start.
   */
  readonly classArchive: string;
}

/**
 * Jars, formatted folder and class archive from the cache, made when they are not there (5 s and 5
 * s). Throws `MissingPartError`.
 */
export async function kafkaImage(
  deps: { readonly clock: Clock; readonly log: Logger },
  options: ProgramLookup & { readonly cacheDir: string },
): Promise<KafkaImage> {
  const version = await javaVersion(options);
  const jars = await kafkaJars(deps, options);
  // The archive holds the jars' paths and fits one virtual machine only.
  const recipe = createHash('sha256')
    .update([jars.classPath, version, ...smallJvm].join('\n'))
    .digest('hex')
    .slice(0, 12);
  const path = join(options.cacheDir, `kafka-${kafkaVersion}-image-${recipe}`);
  await cachedFolder(deps, { path, build: (folder) => buildImage(deps, folder, jars, options) });
  return { classPath: jars.classPath, ...filesOf(path) };
}

function filesOf(folder: string) {
  return { bootstrapCheckpoint: join(folder, 'bootstrap.checkpoint'), classArchive: join(folder, 'broker.jsa') };
}

async function buildImage(
  deps: { readonly clock: Clock; readonly log: Logger },
  folder: string,
  jars: KafkaJars,
  lookup: ProgramLookup,
): Promise<void> {
  deps.log.info('preparing Kafka for quick starts, once');
  const files = filesOf(folder);
  const node = { id: 1, port: await freePort(), controllerPort: await freePort() };
  const cluster = { clusterId: kafkaUuid(), nodes: [node] };
  await format(files.bootstrapCheckpoint, { cluster, node, classPath: jars.classPath, lookup });
  const broker = await KafkaNode.prepare(deps, {
    ...{ cluster, node, classPath: jars.classPath, bootstrapCheckpoint: files.bootstrapCheckpoint },
    jvm: [`-XX:ArchiveClassesAtExit=${files.classArchive}`],
    // The archive is written at the end of an orderly exit.
    stopSignal: 'TERM',
    ...lookup,
  });
  try {
    await broker.start();
    await broker.untilAnswering(1, 60_000);
  } finally {
    await broker.stop();
  }
}

async function format(
  checkpoint: string,
  options: Pick<Parameters<typeof writeKafkaNodeFiles>[1], 'cluster' | 'node'> & {
    classPath: string;
    lookup: ProgramLookup;
  },
): Promise<void> {
  const folder = await makeTemporaryFolder('tidemark-kafka-format-');
  try {
    const settings = await writeKafkaNodeFiles(folder, options);
    const tool = ['kafka.tools.StorageTool', 'format', '-t', options.cluster.clusterId, '-c', settings];
    const java = ['-cp', options.classPath, `-Dlog4j2.configurationFile=${join(folder, 'log4j2.properties')}`];
    await run('java', [...java, ...tool], { timeout: 60_000, ...lookupEnv(options.lookup) });
    await copyFile(join(folder, 'data', 'bootstrap.checkpoint'), checkpoint);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
