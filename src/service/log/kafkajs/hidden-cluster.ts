const createCluster = 'private:Kafka:createCluster';

/**
 * A kafkajs 2.2.4 cluster with all of the client's settings, and a connection of its own. kafkajs'
 * types hide it, so `Methods` names the methods that the caller uses. It is behind a symbol: the
 * version is pinned, and tests read real topics through it.
 */
export function hiddenCluster<Methods>(kafka: object, options: Readonly<Record<string, unknown>>): Methods {
  const symbol = Object.getOwnPropertySymbols(kafka).find(({ description }) => description === createCluster);
  const create = symbol && (kafka as Record<symbol, unknown>)[symbol];
  if (typeof create !== 'function')
    throw new Error('kafkajs: its cluster is gone; see src/service/log/kafkajs/hidden-cluster.ts');
  return create(options) as Methods;
}
