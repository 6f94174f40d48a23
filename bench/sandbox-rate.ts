/**
 * How many updates a second the sandbox can emit to one WebSocket client, and what one costs. The
 * load of every other benchmark comes from it, on the same cores, so it has to stay far below what
 * the service needs for the same update.
 *
 *   npm run -s bench:sandbox -- [seconds] [knownOrders] [rate]
 *   node bench/sandbox-rate.ts 10 400 max
 *
 * The client here only counts bytes and frames: it is no part of the
 * measure, but shares the machine with it.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { createInterface } from 'node:readline';
import WebSocket from 'ws';
import type { SandboxDescription } from '../src/sandbox/describe-sandbox.ts';

const clockTicksPerSecond = 100;

interface CpuSample {
  readonly atMs: number;
  readonly cpuMs: number;
  readonly rssMb: number;
}

function sample(pid: number): CpuSample {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const cpuMs = ((Number(fields[11]) + Number(fields[12])) / clockTicksPerSecond) * 1000;
  return { atMs: performance.now(), cpuMs, rssMb: Math.round((Number(fields[21]) * 4096) / 1e6) };
}

async function tokenOf(sandbox: SandboxDescription): Promise<string> {
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: sandbox.clientId,
    client_secret: sandbox.clientSecret,
  });
  const answer = await fetch(`${sandbox.platform}/v1/oauth2/token`, { method: 'POST', body });
  return ((await answer.json()) as { access_token: string }).access_token;
}

async function follow(sandbox: SandboxDescription, onFrame: (bytes: number) => void): Promise<WebSocket> {
  const headers = { authorization: `Bearer ${await tokenOf(sandbox)}` };
  const socket = new WebSocket(sandbox.stream, { headers, perMessageDeflate: false });
  socket.on('message', (data: Buffer) => onFrame(data.length));
  await once(socket, 'open');
  for (const { id, predictions } of sandbox.users.flatMap((user) => user.accounts)) {
    for (const topic of predictions ? ['account', 'prediction'] : ['account'])
      socket.send(
        JSON.stringify({ type: 'subscribe', id: `${topic} ${id}`, payload: { topic, target: `account:${id}` } }),
      );
  }
  return socket;
}

async function measure(seconds: number, knownOrders: string, rate: string): Promise<object> {
  const child = spawn(
    process.execPath,
    [
      'src/main.ts',
      'sandbox',
      '--json',
      '--rate',
      '0',
      '--known-orders',
      knownOrders,
      '--open-orders',
      String(Math.min(5000, Number(knownOrders))),
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  try {
    const started = performance.now();
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
    const startMs = Math.round(performance.now() - started);
    const sandbox = JSON.parse(line) as SandboxDescription;
    let frames = 0;
    let bytes = 0;
    const socket = await follow(sandbox, (size) => {
      frames += 1;
      bytes += size;
    });
    const setRate = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ rate: rate === 'max' ? rate : Number(rate) }),
    };
    await fetch(`${sandbox.control}/rate`, setRate);
    // The first seconds are the compiler's.
    await new Promise((resolve) => setTimeout(resolve, 2000));
    const [framesBefore, bytesBefore, before] = [frames, bytes, sample(child.pid ?? 0)];
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    const after = sample(child.pid ?? 0);
    const elapsedMs = after.atMs - before.atMs;
    const emitted = frames - framesBefore;
    socket.terminate();
    return {
      knownOrders: Number(knownOrders),
      rate,
      startMs,
      updatesPerSecond: Math.round((emitted / elapsedMs) * 1000),
      bytesPerUpdate: Math.round((bytes - bytesBefore) / Math.max(1, emitted)),
      sandboxCpuMicrosecondsPerUpdate: Number(
        (((after.cpuMs - before.cpuMs) * 1000) / Math.max(1, emitted)).toFixed(2),
      ),
      sandboxCpuPercent: Math.round(((after.cpuMs - before.cpuMs) / elapsedMs) * 100),
      sandboxRssMb: after.rssMb,
    };
  } finally {
    child.kill('SIGTERM');
  }
}

const [seconds = '10', knownOrders = '5000', rate = 'max'] = process.argv.slice(2);
const result = await measure(Number(seconds), knownOrders, rate);
console.log(
  JSON.stringify(
    { node: process.version, cpu: cpus()[0]?.model, cores: cpus().length, seconds: Number(seconds), ...result },
    undefined,
    2,
  ),
);
