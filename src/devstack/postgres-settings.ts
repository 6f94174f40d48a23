/**
 * The server settings of an embedded or contained Postgres, as `-c` arguments: those of a small production server, so that a figure
 * measured on it means something. Durability is full: fsync and synchronous_commit stay on.
 *
 * `fast` turns fsync off. A crash of the machine can then ruin the data; a kill of the server cannot, since synchronous_commit still
 * hands each commit to the kernel. So every test that kills Postgres still proves what it says.
 */
export function postgresSettings(fast: boolean): string[] {
  const settings: Record<string, string | number> = {
    shared_buffers: '256MB',
    max_connections: 200,
    // A checkpoint in the middle of a bench costs a quarter of the throughput for seconds; by size it comes late enough.
    max_wal_size: '4GB',
    min_wal_size: '2GB',
    checkpoint_timeout: '15min',
    // Nothing here runs long enough to earn back the compilation.
    jit: 'off',
    timezone: 'UTC',
    log_checkpoints: 'off',
    log_autovacuum_min_duration: -1,
    ...(fast ? { fsync: 'off', full_page_writes: 'off' } : {}),
  };
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}
