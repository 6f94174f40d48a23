// What a user saw: Every place was refused without a quote, since the platform answered "OK" and not "ok".

import type { ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { decodeFrame } from '../../../src/service/sources/decode-frame.ts';
import { UndiciHttp } from '../../../src/venue/platform/undici-http.ts';
import { rawPredictionAnswer } from '../../../src/venue/platform/wire/order-pages.ts';
import { orderResponse } from '../../../src/venue/platform/wire/order-writes.ts';
import { readAccountItem } from '../../../src/venue/platform/wire/user.ts';
import { writeDeps, writes } from '../../support/commands/order-writes.ts';
import { wireSubjects } from '../../support/platform/wire-subjects.ts';
import { scriptedServer } from '../../support/servers/http-server.ts';

function subjectOf(name: string) {
  const subject = wireSubjects.find((each) => each.name === name);
  if (subject === undefined) throw new Error(`no subject ${name}`);
  return subject;
}

// Servers on .NET write a mark before their JSON: no list was read, and each write was unknown.
describe('an answer with a byte order mark before it', () => {
  const marked = (answer: string) => (_: unknown, response: ServerResponse) => void response.end(`\ufeff${answer}`);

  it('is read', async () => {
    const { url, close } = await scriptedServer(marked('{"a":"\ufeff"}'));
    onTestFinished(close);
    const http = new UndiciHttp({ clock: systemClock });
    onTestFinished(() => http.close());
    const outcome = await http.request({ operation: 'test', method: 'GET', url, headers: {} });
    expect(outcome).toMatchObject({ kind: 'answered', text: '{"a":"\ufeff"}' });
  });

  it.each(Object.entries(writes))('tells the outcome of %s', async (_name, { answer, status, run }) => {
    const { url, close } = await scriptedServer((request, response) => {
      response.statusCode = status;
      marked(answer)(request, response);
    });
    onTestFinished(close);
    expect(await run(writeDeps(), url)).toMatchObject({ kind: 'accepted' });
  });
});

describe('a word means the same in any case', () => {
  it.each([
    ['quotes', 's', ['OK', 'Ok', ' ok ']],
    ['quotes of options', 'status', ['ok', 'Ok']],
    ['previous day', 'status', ['ok', 'Ok']],
  ])('%s: %s', async (name, field, words) => {
    const subject = subjectOf(name);
    const plain = await subject.read(subject.answer);
    for (const word of words) {
      const text = JSON.stringify({ ...(JSON.parse(subject.answer) as object), [field]: word });
      expect((await subject.read(text)).word, word).toBe(plain.word);
    }
    const refused = JSON.stringify({ ...(JSON.parse(subject.answer) as object), [field]: 'okay' });
    expect((await subject.read(refused)).word).toContain('BAD_ANSWER');
  });

  // "False" was read as a success of a prediction order.
  it.each(['False', 'FALSE', ' false '])('success %j is a no', (success) => {
    expect(rawPredictionAnswer.safeParse({ success, data: {} }).success).toBe(false);
    expect(orderResponse.parse({ success }).success).toBe(false);
  });

  it.each(['True', 'TRUE'])('and %j a yes', (word) => {
    expect(rawPredictionAnswer.safeParse({ success: word, data: {} }).success).toBe(true);
    expect(orderResponse.parse({ success: word }).success).toBe(true);
    expect(readAccountItem({ trading_account_id: 'a', status: 'OPEN', is_sim: word })).toMatchObject({ is_sim: true });
  });
});

describe('a frame', () => {
  it('may give back the id of a subscription as a number', () => {
    expect(decodeFrame('{"type":"subscribed","id":7}')).toEqual({ kind: 'subscribed', id: '7' });
    expect(decodeFrame('{"type":"error","id":7,"payload":null}')).toMatchObject({ kind: 'error', id: '7' });
  });

  it.each(['', ',"target":null', ',"target":""'])('without a target is its row’s account’s: %j', (target) => {
    const event = (row: object) =>
      decodeFrame(`{"type":"event","payload":{"topic":"account"${target},"data":${JSON.stringify(row)}}}`);
    expect(event({ ordId: 'o', accountId: 'acct-1' })).toMatchObject({ kind: 'event', accountId: 'acct-1' });
    expect(event({ ordId: 'o' })).toMatchObject({ kind: 'unreadable', reason: 'bad_target', stream: 'account' });
  });
});
