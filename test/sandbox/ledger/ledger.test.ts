import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { proveCommands } from '../../../src/demo/proof/judge-commands.ts';
import { proveRun } from '../../../src/demo/proof/prove-run.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Ledger, maskSecrets } from '../../../src/sandbox/ledger/ledger.ts';
import { readLedger } from '../../../src/sandbox/ledger/read-ledger.ts';
import { ask, askToken, control, controlLines, runningSandbox, signedIn } from '../../support/platform/sandbox.ts';

function ledgerOf(options: { segmentBytes?: number; maxBytes?: number } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-ledger-'));
  const ledger = new Ledger(
    { clock: systemClock },
    { folder, segmentBytes: 1_000_000, maxBytes: 100_000_000, ...options },
  );
  onTestFinished(async () => {
    await ledger.close();
    rmSync(folder, { recursive: true });
  });
  return { folder, ledger };
}

async function linesOf(ledger: Ledger, since = 0, kinds?: string[]) {
  let text = '';
  for await (const chunk of readLedger(ledger, { since, kinds: kinds === undefined ? undefined : new Set(kinds) }))
    text += chunk;
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

describe('the ledger', () => {
  it('gives back every line entered before the question, numbered without a hole', async () => {
    const { ledger } = ledgerOf();
    expect(await linesOf(ledger)).toEqual([]);
    for (let i = 1; i <= 20_000; i += 1)
      expect(ledger.enter(i % 2 === 0 ? 'change' : 'event', `,"n":${i},"text":"é\\u0000"`)).toBe(i);
    const lines = await linesOf(ledger);
    expect(lines.map((line) => line.seq)).toEqual(Array.from({ length: 20_000 }, (_, i) => i + 1));
    expect(lines[7]).toMatchObject({ kind: 'change', n: 8, text: 'é\u0000' });
  });

  it('filters by kind and by number, across segments', async () => {
    const { ledger, folder } = ledgerOf({ segmentBytes: 2000 });
    for (let round = 0; round < 20; round += 1) {
      for (let i = 0; i < 50; i += 1) ledger.enter(i % 2 === 0 ? 'change' : 'event', ',"x":1');
      await ledger.flush();
    }
    expect(readdirSync(folder).length).toBeGreaterThan(10);
    const lines = await linesOf(ledger, 433, ['event']);
    expect(lines.every((line) => line.kind === 'event' && line.seq > 433)).toBe(true);
    expect(lines).toHaveLength(284);
  });

  it('is read page by page: so many lines at most, the next page after the last number of the one before', async () => {
    const { ledger } = ledgerOf({ segmentBytes: 3000 });
    for (let i = 0; i < 250; i += 1) {
      ledger.enter(i % 5 === 0 ? 'decision' : 'event', ',"x":1');
      if (i % 20 === 0) await ledger.flush();
    }
    const seqs: number[] = [];
    for (let since = 0; ; since = seqs.at(-1) ?? 0) {
      let text = '';
      for await (const chunk of readLedger(ledger, { since, kinds: new Set(['decision']), limit: 12 })) text += chunk;
      const page = text.split('\n').filter((line) => line !== '');
      seqs.push(...page.map((line) => JSON.parse(line).seq as number));
      if (page.length < 12) break;
      expect(page).toHaveLength(12);
    }
    expect(seqs).toEqual(Array.from({ length: 50 }, (_, i) => i * 5 + 1));
  });

  it('drops the oldest segments beyond its bound, and says so to who asks for them', async () => {
    const { ledger } = ledgerOf({ segmentBytes: 2000, maxBytes: 10_000 });
    for (let round = 0; round < 40; round += 1) {
      for (let i = 0; i < 20; i += 1) ledger.enter('change', ',"x":1');
      await ledger.flush();
    }
    const [first, ...rest] = await linesOf(ledger);
    expect(first).toMatchObject({ kind: 'truncated', firstSeq: rest[0].seq });
    expect(rest.at(-1).seq).toBe(800);
    expect(rest.map((line) => line.seq)).toEqual(Array.from({ length: rest.length }, (_, i) => rest[0].seq + i));
    expect((await linesOf(ledger, 799)).map((line) => line.seq)).toEqual([800]);
  });

  it('is behind while much waits for the disk, and not for ever', async () => {
    const { ledger } = ledgerOf({ segmentBytes: 100_000_000 });
    for (let i = 0; i < 20; i += 1) ledger.enter('change', `,"x":"${'x'.repeat(1_000_000)}"`);
    expect(ledger.behind).toBe(true);
    await ledger.flush();
    expect(ledger.behind).toBe(false);
  });
});

describe('what it holds', () => {
  it('each request with its bytes and its answer, each token, each session', async () => {
    const { description: at } = await runningSandbox();
    await askToken(at);
    await ask(`${at.platform}/v1/oauth2/token`, { method: 'POST', body: Buffer.from([0xff, 0xfe, 0x00]) });
    const lines = await controlLines(at, '/ledger');
    expect(lines[0]).toMatchObject({ seq: 1, kind: 'start' });
    const requests = lines.filter((line) => line.kind === 'request');
    expect(requests[0]).toMatchObject({ listener: 'platform', method: 'POST', url: '/v1/oauth2/token' });
    expect(requests[0].body).toContain('grant_type=client_credentials');
    expect(requests[1]).toMatchObject({ bytes: 3, bodyBase64: '//4A' });
    const answers = lines.filter((line) => line.kind === 'answer');
    expect(answers.map((line) => [line.request, line.status])).toEqual([
      [requests[0].seq, 200],
      [requests[1].seq, 400],
    ]);
    expect(lines.find((line) => line.kind === 'token')).toMatchObject({
      request: requests[0].seq,
      clientId: at.clientId,
    });
  });

  it('no secret: neither client secrets nor tokens', async () => {
    const { description: at } = await runningSandbox();
    const { authorization } = await signedIn(at);
    await ask(`${at.platform}/v1/orders?accountId=SIM-1001`, { headers: { authorization } });
    const { text } = await ask(`${at.control}/ledger`);
    expect(text).not.toContain(at.clientSecret);
    expect(text).not.toContain(authorization.slice(7));
    expect(maskSecrets('{"client_secret":"s3","username":"u","password":"p w"}')).not.toMatch(/s3|p w/);
  });

  it('each change with its whole new state, who caused it, and its version', async () => {
    const { description: at } = await runningSandbox();
    const { json } = await control(at, '/orders', {
      stream: 'prediction',
      accountId: 'SIM-1001',
      version: '9007199254740993',
    });
    const lines = (await controlLines(at, '/ledger?kind=change')).filter((line) => line.orderId === json.orderId);
    expect(lines.map((line) => [line.step, line.cause, line.version])).toEqual([
      ['opened', 'control', '9007199254740993'],
      ['accepted', 'control', '9007199254740994'],
    ]);
    expect(lines[1].order).toEqual(json);
  });
});

describe("issue: The demo's proof passed on a ledger whose beginning had been deleted.", () => {
  const control = 'http://127.0.0.1:1';
  const truncated = '{"kind":"truncated","firstSeq":7}\n';
  const unproven = "the ledger's beginning was deleted: nothing before line 7 is proven";
  const pool = { query: async () => ({ rows: [] }) } as unknown as Pool;

  it('says what is not proven, and counts no event for it', async () => {
    const event = '{"seq":7,"at":"2026-11-22T20:00:00.000000Z","kind":"event","result":"sent"}\n';
    const answer = async (url: unknown) => new Response(String(url).includes('/ledger') ? truncated + event : '');
    const proof = await proveRun(
      { pool, fetch: answer as typeof fetch, counts: undefined },
      { control, accounts: new Set() },
    );
    expect(proof).toMatchObject({ observations: 1, faults: [unproven] });
  });

  it('passes no verdict on commands', async () => {
    await expect(proveCommands({ pool, fetch: async () => new Response(truncated) }, control)).rejects.toThrow(
      unproven,
    );
  });
});
