const createCluster = 'private:Kafka:createCluster';

/**
 * A kafkajs 2.2.4 cluster with all of the client's settings, and a connection of its own. kafkajs'
 * types hide it, so `Methods` names the methods that the caller uses. It is behind a symbol: the
 * version is pinned, and tests read real topics through it.
 */
export function hiddenCluster<Methods>(kafka: object, options: Readonly<Record<string, unknown>>): Methods {
  return maker(kafka).create(options) as Methods;
}

/** The client's last cluster, made for a producer or consumer. */
export function lastCluster<Methods>(kafka: object): () => Methods | undefined {
  const { symbol, create } = maker(kafka);
  let last: unknown;
  (kafka as Record<symbol, unknown>)[symbol] = (options: Readonly<Record<string, unknown>>) => {
    last = create(options);
    return last;
  };
  return () => last as Methods | undefined;
}

function maker(kafka: object) {
  const symbol = Object.getOwnPropertySymbols(kafka).find(({ description }) => description === createCluster);
  const create = symbol && (kafka as Record<symbol, unknown>)[symbol];
  if (symbol === undefined || typeof create !== 'function')
    throw new Error('kafkajs: its cluster is gone; see src/service/log/kafkajs/hidden-cluster.ts');
  return { symbol, create: create as (options: Readonly<Record<string, unknown>>) => unknown };
}
