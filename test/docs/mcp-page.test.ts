import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { offeredTools } from '../../src/cli/mcp/serve-mcp.ts';
import { scopes } from '../../src/service/rest/auth/principal.ts';
import { McpRig } from '../support/rest/mcp-rig.ts';
import { ScriptedRest } from '../support/rest/scripted-rest.ts';

const page = readFileSync('docs/mcp.md', 'utf8');

/** What differs from run to run, as it stands on the page. */
function steady(text: string): string {
  return text
    .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '4f7c1d1e-1111-4222-8333-444455556666')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z/g, '2026-11-21T15:00:00.000Z');
}

it('docs/mcp.md lists every tool with the scopes that offer it', () => {
  const caller = { principal: 'desk', signIn: true, commands: 'on', scopes: [...scopes] } as const;
  const listed = [...page.matchAll(/^\| `([a-z_]+)` \| (.*?) \|/gm)].map(([, name, needed]) => [name, needed]);
  const rows = offeredTools({ ...caller, scopes: [...scopes] }, { readOnly: false }).map(({ name, scopes: needed }) => [
    name,
    needed.map((scope) => `\`${scope}\``).join(' or '),
  ]);
  expect(listed).toEqual(rows);
});

it('docs/mcp.md shows a preview and an unknown result as the tools tell them', async () => {
  const service = await ScriptedRest.start();
  service.orders = [];
  const rig = await McpRig.start({ url: service.url });
  const order = {
    accountId: 'SIM-1001',
    symbol: 'AAPL',
    side: 'BUY',
    type: 'LIMIT',
    qty: '10',
    price: '187.5',
    timeInForce: 'DAY',
  };
  const preview = await rig.call('preview_place', order);
  expect(page).toContain(`\`\`\`\n${steady(preview.text)}\n\`\`\`\n`);
  const reason = { code: 'REQUEST_OUTCOME_UNKNOWN', message: 'The request may have reached the venue', status: 504 };
  const unknown = {
    result: 'unknown',
    state: 'unknown',
    unresolved: true,
    orderId: undefined,
    orderStatus: undefined,
    reason,
  };
  service.fates = [{ kind: 'answered', status: 202, with: unknown }];
  const { text } = await rig.call('commit', { previewId: preview.data.previewId });
  expect(page).toContain(`\`\`\`\n${steady(text)}\n\`\`\`\n`);
});
