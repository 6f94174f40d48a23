/**
 * The service that one would write in an afternoon, and the baseline of `npm run bench`: the same
 * streams over the same sockets, for each event `JSON.parse`, one Postgres transaction (upsert
 * behind a version guard, and the log row) and one awaited kafkajs send. No straw man: prepared
 * statements on one connection, one at a time so that orders keep their order, kafkajs as it
 * comes (its retries, acks from all). It has none of what makes the difference afterwards: no
 * batches, no outbox (a crash between commit and send loses the update), no snapshot, no
 * reconnect, digits of large versions lost.
 *
 * Environment: DATABASE_URL (an empty database), KAFKA_BROKERS, NAIVE_TOPIC (there already),
 * PLATFORM_URL, PLATFORM_STREAM_URL, PLATFORM_STAGING_STREAM_URL, PLATFORM_CLIENT_ID,
 * PLATFORM_CLIENT_SECRET. Prints `{ "received", "acknowledged" }` four times a second.
 */
import kafkajs from 'kafkajs';
import pg from 'pg';
import WebSocket from 'ws';

const env = (name: string): string => {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`${name} is not set`);
  return value;
};

interface OrderEvent {
  type: string;
  payload: { topic: string; target: string; data: { ordId?: string; orderId?: string; updatedAt: string } };
}

/** Frames that wait; at the first the socket is paused, at the second it goes on. */
const pauseAt = 5000;
const resumeAt = 1000;

const database = new pg.Client({ connectionString: env('DATABASE_URL') });
await database.connect();
await database.query(`
  create table naive_orders (order_key text primary key, account_id text not null, updated_at text not null, state json not null);
  create table naive_updates (seq bigint generated always as identity primary key, order_key text not null, payload text not null)`);

const topic = env('NAIVE_TOPIC');
const kafka = new kafkajs.Kafka({ brokers: env('KAFKA_BROKERS').split(','), logLevel: kafkajs.logLevel.ERROR });
const producer = kafka.producer({
  allowAutoTopicCreation: false,
  createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
});
await producer.connect();

const upsert = {
  name: 'upsert',
  text: `insert into naive_orders as o (order_key, account_id, updated_at, state) values ($1, $2, $3, $4)
    on conflict (order_key) do update set updated_at = excluded.updated_at, state = excluded.state where o.updated_at <= excluded.updated_at`,
};
const append = { name: 'append', text: 'insert into naive_updates (order_key, payload) values ($1, $2)' };

let received = 0;
let acknowledged = 0;
const queue: string[] = [];
let working = false;

async function handle(frame: string): Promise<void> {
  const event = JSON.parse(frame) as OrderEvent;
  const { topic: stream, target, data } = event.payload;
  const key = `${stream}:${data.ordId ?? data.orderId}`;
  const payload = JSON.stringify({ key, receivedAt: new Date().toISOString(), order: data });
  await database.query('begin');
  const { rowCount } = await database.query({
    ...upsert,
    values: [key, target.slice('account:'.length), data.updatedAt, JSON.stringify(data)],
  });
  if (rowCount === 1) await database.query({ ...append, values: [key, payload] });
  await database.query('commit');
  if (rowCount === 1) await producer.send({ topic, acks: -1, messages: [{ key, value: payload }] });
  acknowledged += 1;
}

async function work(): Promise<void> {
  if (working) return;
  working = true;
  for (let frame = queue.shift(); frame !== undefined; frame = queue.shift()) {
    await handle(frame);
    if (queue.length < resumeAt) for (const socket of sockets) if (socket.isPaused) socket.resume();
  }
  working = false;
}

function follow(address: string, accessToken: string, topic: string, accounts: readonly string[]): WebSocket {
  const socket = new WebSocket(address, { headers: { authorization: `Bearer ${accessToken}` } });
  socket.on('open', () => {
    for (const account of accounts) {
      socket.send(
        JSON.stringify({
          type: 'subscribe',
          id: `${topic} ${account}`,
          payload: { topic, target: `account:${account}` },
        }),
      );
    }
  });
  socket.on('message', (data: Buffer) => {
    const frame = data.toString();
    if (!frame.startsWith('{"type":"event"')) return;
    received += 1;
    queue.push(frame);
    if (queue.length >= pauseAt) socket.pause();
    void work();
  });
  return socket;
}

async function post(url: string, body: object): Promise<{ access_token: string }> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
  return (await answer.json()) as { access_token: string };
}

const platform = env('PLATFORM_URL');
const { access_token: accessToken } = await post(`${platform}/v1/oauth2/token`, {
  grant_type: 'client_credentials',
  client_id: env('PLATFORM_CLIENT_ID'),
  client_secret: env('PLATFORM_CLIENT_SECRET'),
});
const listed = await fetch(`${platform}/v2/users/me/accounts`, { headers: { authorization: `Bearer ${accessToken}` } });
const { accounts } = (await listed.json()) as { accounts: { trading_account_id: string }[] };
const ids = accounts.map((account) => account.trading_account_id);
const sockets: readonly WebSocket[] = [
  follow(env('PLATFORM_STREAM_URL'), accessToken, 'account', ids),
  follow(env('PLATFORM_STAGING_STREAM_URL'), accessToken, 'prediction', ids),
];

setInterval(() => console.log(JSON.stringify({ received, acknowledged })), 250);
process.on('SIGTERM', () => process.exit(0));
