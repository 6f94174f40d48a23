/**
 * How a command that reads millions of rows may use the database of a service that runs: one connection, and one process of the server behind it. Without this the
 * planner takes two workers more for the larger reads, and compiles statements of 30 ms for 100 ms.
 */
export const lightLoad = { maxConnections: 1, settings: { max_parallel_workers_per_gather: '0', jit: 'off' } } as const;
