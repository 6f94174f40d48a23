import { Gauge, Histogram, type Registry } from 'prom-client';

export function processMetrics(registry: Registry) {
  const registers = [registry];
  return {
    httpSeconds: new Histogram({
      name: 'http_request_duration_seconds',
      help: 'Time of one request that we answered',
      labelNames: ['method', 'route', 'code_class'] as const,
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.5, 5.5, 30.5],
      registers,
    }),
    buildInfo: new Gauge({
      name: 'tidemark_build_info',
      help: '1, with the version in its label',
      labelNames: ['version'] as const,
      registers,
    }),
    dbPoolWaiting: new Gauge({
      name: 'tidemark_db_pool_waiting',
      help: 'Callers waiting for a database connection',
      registers,
    }),
    databaseBytes: new Gauge({
      name: 'tidemark_database_bytes',
      help: 'Disk that the database takes, without its write-ahead log',
      registers,
    }),
    databaseBudgetBytes: new Gauge({
      name: 'tidemark_database_budget_bytes',
      help: 'Disk that the database may take (TIDEMARK_DATABASE_BUDGET_MB); 0 where none is set',
      registers,
    }),
    laneDeadRows: new Gauge({
      name: 'tidemark_lane_dead_rows',
      help: 'Dead versions of the rows of lanes that vacuum has not taken away',
      registers,
    }),
    logBytes: new Gauge({
      name: 'tidemark_log_bytes',
      help: 'Disk that the log of updates takes, with its indexes',
      registers,
    }),
  };
}
