import { expect, it } from 'vitest';
import { fieldsWhere, type Order, orderTable } from '../../src/domain/order.ts';

type Field = keyof Order;

function composed(): string[] {
  const required = fieldsWhere(({ required }) => required !== undefined);
  const shown = fieldsWhere(({ required, own }, field) => required === undefined && own !== true && field !== 'extra');
  const own = fieldsWhere(({ required, own }) => required === undefined && own === true);
  const sources: Readonly<Partial<Record<Field, string>>> = Object.fromEntries(
    fieldsWhere(({ own }) => own === true).map((field) => [field, 'own']),
  );
  const all: readonly Field[] = [...required, ...shown, ...own, 'extra'];
  return all.map((field) => `    ${field}: ${sources[field] ?? 'view'}.${field},`);
}

const differs: Readonly<Partial<Record<Field, string>>> = {
  instrument: 'a.instrument === undefined || !sameInstrument(a.instrument, b.instrument)',
  working: '!sameWorking(a.working, b.working)',
};

function compared(fields: readonly Field[]): string[] {
  return fields.map((field) => {
    const byValue =
      orderTable[field].kind === 'instant' ? `!sameInstant(a.${field}, b.${field})` : `a.${field} !== b.${field}`;
    return `  if (${differs[field] ?? byValue}) changed.push('${field}');`;
  });
}

function registers(): string[] {
  const names = fieldsWhere(({ register }) => register !== undefined);
  return names.map((field) => `  order.${field} = registers.${field} ?? order.${field};`);
}

function generated(): string {
  const fields = fieldsWhere((_rule, field) => field !== 'stream' && field !== 'orderId' && field !== 'extra');
  const half = fields.indexOf('origin');
  return [
    '// Generated from the table in order.ts: change it, and run test/domain/order-code.test.ts with -u.',
    '',
    "import type { Composed, Order, OrderView, OwnFields, RegisterField } from './order.ts';",
    "import { sameInstant, sameInstrument, sameWorking } from './view-content.ts';",
    '',
    '/**',
    ' * The order that shows `view`: every field, always in this order. So equal orders have equal JSON,',
    ' * which leaves out the undefined ones, and the source’s own field order does not matter.',
    ' */',
    'export function composeOrder(view: OrderView, own: OwnFields): Composed {',
    '  return {',
    ...composed(),
    '  };',
    '}',
    '',
    '/** Shows these in place of those of the winning view. */',
    'export function showRegisters(order: Composed, registers: Partial<Pick<Order, RegisterField>>): void {',
    ...registers(),
    '}',
    '',
    '/** Nothing, if there is no order before. */',
    'export type Before = Order | { readonly [K in keyof Order]?: undefined };',
    '',
    'export function addChangedTerms(changed: (keyof Order)[], a: Before, b: Order): void {',
    ...compared(fields.slice(0, half)),
    '}',
    '',
    'export function addChangedHistory(changed: (keyof Order)[], a: Before, b: Order): void {',
    ...compared(fields.slice(half)),
    '}',
    '',
  ].join('\n');
}

// Where it differs: npx vitest run -u --project unit test/domain/order-code.test.ts
it('the code that composes and compares orders is the one that the table of their fields gives', async () => {
  await expect(generated()).toMatchFileSnapshot('../../src/domain/order-code.ts');
});
