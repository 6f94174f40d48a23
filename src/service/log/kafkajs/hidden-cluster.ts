const createCluster = 'private:Kafka:createCluster';

/**
 * A cluster of kafkajs 2.2.4, with everything that the client was made with, and a connection of
 * its own. `Methods`: those that the caller uses, which kafkajs' types hide. It is behind a symbol:
 * the version is pinned, and tests read real topics through it.
 */
export function hiddenCluster<Methods>(kafka: object, options: Readonly<Record<string, unknown>>): Methods {
  const symbol = Object.getOwnPropertySymbols(kafka).find(({ description }) => description === createCluster);
  const create = symbol && (kafka as Record<symbol, unknown>)[symbol];
  if (typeof create !== 'function')
    throw new Error('kafkajs: its cluster is gone; see src/service/log/kafkajs/hidden-cluster.ts');
  return create(options) as Methods;
}
