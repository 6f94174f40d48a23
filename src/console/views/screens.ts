import type { VNode } from 'preact';
import { html } from '../parts/html.ts';
import { lazyView } from '../parts/lazy-view.ts';
import { addressOf, blotterAddress, type ScreenName } from '../state/address.ts';
import { mayCommand } from '../state/commands/may-command.ts';
import { viewOf } from '../state/orders/blotter-view.ts';
import type { Scope, Session } from '../state/session.ts';
import { Blotter } from './blotter.ts';
import type { ScreenProps } from './screen-props.ts';

/** The view of each address. All but the first are fetched when they are opened. */
export const screens: Readonly<Partial<Record<ScreenName, (props: ScreenProps) => VNode>>> = {
  blotter: ({ state, query }) => html`<${Blotter} state=${state} view=${viewOf(query)} />`,
  order: lazyView(async () => {
    const { OrderPage } = await import('./order-page.ts');
    return ({ state, params: { stream, orderId } }: ScreenProps) =>
      html`<${OrderPage} state=${state} stream=${stream} orderId=${orderId} />`;
  }),
  commands: lazyView(async () => (await import('./commands.ts')).Commands),
  command: lazyView(async () => (await import('./command-page.ts')).CommandPage),
  risk: lazyView(async () => (await import('./risk.ts')).Risk),
  ticket: lazyView(async () => (await import('./place.ts')).Place),
  accounts: lazyView(async () => (await import('./accounts-page.ts')).AccountsPage),
  pipeline: lazyView(async () => (await import('./pipeline-page.ts')).PipelinePage),
  quarantine: lazyView(async () => (await import('./quarantine-page.ts')).QuarantinePage),
  quarantined: lazyView(async () => (await import('./quarantined-page.ts')).QuarantinedPage),
  breakIt: lazyView(async () => (await import('./break-it.ts')).BreakIt),
  runbook: lazyView(async () => (await import('./runbook-page.ts')).RunbookPage),
};

interface NavigationEntry {
  readonly label: string;
  readonly address: string;
  /** The screens for which it counts as the current one. */
  readonly names: readonly (ScreenName | 'unknown')[];
  /** Any one of them; a reader without sees no link. */
  readonly needs: readonly Scope[];
  /** Only where orders can be placed at all. */
  readonly commands?: true;
  /** There only in the demo. */
  readonly demo?: true;
}

const entries: readonly NavigationEntry[] = [
  { label: 'Orders', address: blotterAddress(), names: ['blotter', 'order'], needs: ['orders:read'] },
  {
    label: 'Commands',
    address: addressOf('commands'),
    names: ['commands', 'command'],
    needs: ['orders:read', 'ops:read'],
  },
  { label: 'Place', address: addressOf('ticket'), names: ['ticket'], needs: ['orders:write'], commands: true },
  { label: 'Risk', address: addressOf('risk'), names: ['risk'], needs: ['orders:read', 'ops:read'] },
  { label: 'Accounts', address: addressOf('accounts'), names: ['accounts'], needs: ['orders:read', 'ops:read'] },
  { label: 'Pipeline', address: addressOf('pipeline'), names: ['pipeline'], needs: ['ops:read'] },
  { label: 'Quarantine', address: addressOf('quarantine'), names: ['quarantine', 'quarantined'], needs: ['ops:read'] },
  { label: 'Break it', address: addressOf('breakIt'), names: ['breakIt'], needs: ['ops:write'], demo: true },
];

/** The screens that this reader may open. */
export function navigation(session: Session, inDemo: boolean): readonly NavigationEntry[] {
  return entries.filter(
    ({ needs, demo, commands }) =>
      needs.some((scope) => session.may(scope)) &&
      (demo !== true || inDemo) &&
      (commands !== true || mayCommand(session)),
  );
}
