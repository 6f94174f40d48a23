/** What everybody's settings are at first: one value of each JSON type. */
export const defaultSettings: readonly { readonly category: string; readonly key: string; readonly value: unknown }[] = [
  { category: 'display', key: 'theme', value: 'dark' },
  { category: 'display', key: 'fontSize', value: 14 },
  { category: 'display', key: 'columns', value: ['symbol', 'last', 'change'] },
  { category: 'trading', key: 'confirmOrders', value: true },
  { category: 'trading', key: 'defaultQuantity', value: '100' },
  { category: 'trading', key: 'defaultRoute', value: null },
  { category: 'notifications', key: 'quietHours', value: { from: '22:00', to: '07:00' } },
  { category: 'notifications', key: 'fills', value: 'push' },
];
