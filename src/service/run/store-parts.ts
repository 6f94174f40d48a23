import type { ConfigWith } from '../../config/config.ts';
import { present } from '../../domain/present.ts';
import type { Ambient } from '../../observability/ambient.ts';
import type { Act, Lease } from '../../runtime/lease.ts';
import type { Secret } from '../../runtime/secret.ts';
import { MemoryTokenStore } from '../../runtime/token-store.ts';
import { postgresAccountRepairs } from '../../store/account-repairs.ts';
import { GroupCommit } from '../../store/commands/group-commit.ts';
import { createPostgresJournal } from '../../store/commands/postgres-journal.ts';
import { PostgresResultLog } from '../../store/commands/result-log.ts';
import { postgresDeadLetters } from '../../store/dead-letters/postgres-dead-letters.ts';
import { postgresAccountRegistry } from '../../store/fleet/account-registry.ts';
import { Changes } from '../../store/fleet/changes.ts';
import { type FoundLoss, PostgresLaneStore } from '../../store/fleet/lane-store.ts';
import { PostgresShardStore } from '../../store/fleet/shard-store.ts';
import { defaultPartitionRows } from '../../store/migrate.ts';
import { PostgresOrderStore } from '../../store/orders/postgres-orders.ts';
import { PostgresUpdateLog } from '../../store/orders/update-log.ts';
import { PostgresPrincipalStore } from '../../store/principals.ts';
import { PublishedTopics } from '../../store/published-topics.ts';
import { postgresOrderReads } from '../../store/rest-reads.ts';
import { createPool, createReadPool } from '../../store/session/pool.ts';
import { PostgresCredentialList, PostgresTokenStore, tokenKeys } from '../../store/token-store.ts';

interface StorePartsDeps extends Ambient {
  /** Its checkpoint records the commits acknowledged by the journal. */
  readonly lease?: Lease;
  /** Something about to be written again was lost, and a generation has begun. */
  readonly onLoss?: (loss: FoundLoss) => void;
  /** Writes of the command side that are about to share a commit. */
  readonly onGroup?: (writes: number) => void;
}

interface StorePartsOptions {
  readonly url: string;
  readonly poolSize: number;
  /** Left out: 1. */
  readonly firstGeneration?: number;
  /** Without it linked logins can't be used. */
  readonly encryptionKey?: Secret;
  /** Seals the client's token where there is no other key. Without both, tokens live in memory. */
  readonly platformClientSecret?: Secret;
}

/**
 * Two for groups of writes, four for writes that are asked for alone since they wait for a lock,
 * and two for what people ask for and for reads of the journal.
 */
const commandConnections = 8;
/**
 * For command routes' reads (a command with its evidence, the accounts of a cancel-all): short, by
 * key, and never behind a page.
 */
const commandReadConnections = 2;

/** The settings as options of these parts. */
export function storeOptions(config: ConfigWith<'databaseUrl'>): StorePartsOptions {
  const { databaseUrl, databasePoolSize: poolSize, generation, encryptionKey, platformClientSecret } = config;
  return present({
    ...{ url: databaseUrl.reveal(), poolSize, firstGeneration: generation },
    ...{ encryptionKey, platformClientSecret },
  });
}

export type StoreParts = ReturnType<typeof storeParts>;

/**
 * Everything that speaks Postgres. The lane has its own connections: neither a batch (or its heads)
 * nor a renewal may queue behind a caller's list of orders. One is for batches, one for renewals,
 * one for heads, and one for a missing partition. Commands and REST reads have their own too.
 */
export function storeParts(deps: StorePartsDeps, options: StorePartsOptions) {
  const { url, poolSize, firstGeneration = 1 } = options;
  const poolOf = (applicationName: string, maxConnections: number) =>
    createPool(deps, { url, applicationName, maxConnections });
  const pool = poolOf('tidemark', poolSize);
  const lanePool = poolOf('tidemark-lease', 3);
  const commandPool = poolOf('tidemark-commands', commandConnections);
  const readPoolOf = (applicationName: string, maxConnections: number) =>
    createReadPool(deps, { url, applicationName, maxConnections });
  const readPool = readPoolOf('tidemark-reads', poolSize);
  const commandReadPool = readPoolOf('tidemark-command-reads', commandReadConnections);
  const checkpoint = deps.lease?.checkpoint;
  const lanes = new PostgresLaneStore({ ...deps, pool: lanePool }, { firstGeneration });
  /** Asked before the database is given again what it lacks: then nothing would show the loss. */
  const noticeLost = async (...lacking: readonly Act[]): Promise<void> => {
    if (deps.lease === undefined || checkpoint?.newest === undefined) return;
    const { lane } = deps.lease;
    const loss = await lanes.noticeLoss(lane, [
      { ...checkpoint.newest, lane, acts: [...checkpoint.newest.acts, ...lacking] },
    ]);
    if (loss !== undefined) deps.onLoss?.(loss);
  };
  const groups = new GroupCommit({ ...deps, pool: commandPool });
  const acknowledging = { ...deps, ...(checkpoint && { checkpoint }) };
  const shared = { ...acknowledging, pool };
  const keys = tokenKeys(options);
  const durable = keys && new PostgresTokenStore({ ...shared, ...keys });
  const changes = new Changes(deps.clock);
  const orders = new PostgresOrderStore(
    { ...deps, pool: lanePool, attempts: groups.attempts },
    { url, partitionRows: defaultPartitionRows },
  );
  return {
    pool,
    orders,
    tokens: durable ?? new MemoryTokenStore(deps),
    /** The linked logins; without a key they can be listed, and not used. */
    credentials: durable ?? new PostgresCredentialList(shared),
    isKeyed: options.encryptionKey !== undefined,
    lanes,
    noticeLost,
    changes,
    shards: new PostgresShardStore({ ...deps, pool, changes }),
    updates: new PostgresUpdateLog(shared),
    accounts: postgresAccountRegistry(shared),
    journal: createPostgresJournal({ ...acknowledging, pool: commandPool, groups }),
    results: new PostgresResultLog({ ...deps, pool: commandPool, numbers: groups.numbers }),
    reads: postgresOrderReads({ ...deps, pool: readPool }),
    commandReads: postgresOrderReads({ ...deps, pool: commandReadPool }),
    deadLetters: postgresDeadLetters({ ...shared, readPool }),
    repairs: postgresAccountRepairs({ ...deps, pool: commandReadPool }),
    principals: new PostgresPrincipalStore({ ...shared, noticeLost }),
    published: new PublishedTopics(pool),
    partitionRows: defaultPartitionRows,
    close: async () => {
      await orders.close();
      await Promise.all([pool.end(), lanePool.end(), commandPool.end(), commandReadPool.end(), readPool.end()]);
    },
  };
}
