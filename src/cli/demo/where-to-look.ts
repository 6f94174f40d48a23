import type { DemoStack } from './start-stack.ts';

/** What to try next, with the addresses of this run. */
export function whereToLook(stack: DemoStack): string {
  const broker = stack.brokers?.[0] ?? '';
  const prefix = stack.topicPrefix === '' ? '' : `TIDEMARK_TOPIC_PREFIX=${stack.topicPrefix} `;
  // A given address is a secret of whoever gave it, and stays off the screen.
  const database = stack.databaseGiven ? '"$DATABASE_URL"' : `'${stack.databaseUrl}'`;
  return [
    '',
    'Where to look next, in another terminal:',
    `  npx tidemark status --url ${stack.adminAddress}`,
    `  KAFKA_BROKERS=${broker} ${prefix}npx tidemark tail --stream prediction`,
    `  DATABASE_URL=${database} KAFKA_BROKERS=${broker} ${prefix}npx tidemark audit          or quarantine ls, token ls, backfill SIM-1001`,
    `  kcat -b ${broker} -t ${stack.topic} -C -o beginning -f '%k %s\\n'`,
    `  curl -s ${stack.adminAddress}/metrics | grep tidemark_latency`,
    `  curl -s ${stack.restAddress}/docs          every route of REST; curl -N ${stack.restAddress}/v1/stream follows the updates`,
    `  npx tidemark command ls --unresolved --url ${stack.restAddress}`,
    `  curl -s -X POST ${stack.sandbox.control}/faults -H 'content-type: application/json' -d '{"stream":{"duplicate":0.2,"reorder":0.2,"silent_loss":0.05}}'`,
    `  curl -s ${stack.sandbox.control}/          what else the sandbox can do wrong`,
    '',
  ].join('\n');
}
