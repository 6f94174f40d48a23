import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import { Secret } from '../../src/runtime/secret.ts';

const canary = 'c4n4ry-5ecret';

it('gives its value to who asks for it by name', () => {
  expect(new Secret(canary).reveal()).toBe(canary);
});

it.each([
  ['a template string', (secret: Secret) => `${secret}`],
  ['String', (secret: Secret) => String(secret)],
  ['joining', (secret: Secret) => ['', secret].join('')],
  ['JSON', (secret: Secret) => JSON.stringify({ secret })],
  ['inspect', (secret: Secret) => inspect({ secret }, { showHidden: true, depth: 9 })],
  [
    'an error that holds it',
    (secret: Secret) => inspect(Object.assign(new Error('x'), { secret }), { showHidden: true }),
  ],
  ['its own keys', (secret: Secret) => JSON.stringify(Object.entries(secret))],
  ['a copy', (secret: Secret) => JSON.stringify({ ...secret })],
])('does not print by %s', (_way, print) => {
  expect(print(new Secret(canary))).not.toContain(canary);
});
