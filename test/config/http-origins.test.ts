import { expect, it } from 'vitest';
import { optionTable } from '../../src/config/option-table.ts';

const { httpOrigins } = optionTable;

it.each([
  'https://desk.example.com',
  'http://localhost:5173',
  'https://a.example:8443,http://127.0.0.1:8080',
  'http://[::1]:3000',
])('%s is what a browser writes as its origin', (text) => {
  const parsed = httpOrigins.parse(text);
  expect(parsed).toMatchObject({ ok: true });
  for (const origin of text.split(',')) expect(new URL(origin).origin).toBe(origin);
});

it.each([
  '*',
  'null',
  'desk.example.com',
  'https://desk.example.com/',
  'https://desk.example.com:443',
  'http://localhost:80',
  'https://Desk.example.com',
  'https://*.example.com',
  'https://user@example.com',
  'ftp://example.com',
  'https://a.example,https://a.example',
])('%s is refused: it would never match, or match too much', (text) => {
  expect(httpOrigins.parse(text).ok).toBe(false);
});
