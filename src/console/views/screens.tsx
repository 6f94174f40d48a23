import type { VNode } from 'preact';
import { addPath, type Place, type ScreenName } from '../state/address.ts';
import type { Scope, Session } from '../state/session.ts';
import { joined } from '../state/text/word-text.ts';
import { AccountsPage } from './accounts-page.tsx';
import { Blotter } from './blotter.tsx';
import { CommandPage } from './command-page.tsx';
import { Commands } from './commands.tsx';
import { DeadLetterPage } from './dead-letter-page.tsx';
import { DeadLettersPage } from './dead-letters-page.tsx';
import { Fills } from './fills.tsx';
import { OrderPage } from './order-page.tsx';
import { PipelinePage } from './pipeline-page.tsx';
import { PlaceOrder } from './place.tsx';
import { Risk } from './risk.tsx';

type View = (props: Place) => VNode;

/** The view at each address; one without a view here has nothing to show. */
export const screens: Partial<Record<ScreenName, View>> = {
  blotter: Blotter,
  order: OrderPage,
  fills: Fills,
  commands: Commands,
  command: CommandPage,
  risk: Risk,
  ticket: PlaceOrder,
  accounts: AccountsPage,
  pipeline: PipelinePage,
  deadLetters: DeadLettersPage,
  deadLetter: DeadLetterPage,
};

interface NavigationEntry {
  readonly label: string;
  /** It leads to the first, and counts as the current one on each. */
  readonly names: readonly [ScreenName, ...Place['screen'][]];
  /** Any one of them; a reader without sees no link. */
  readonly needs: readonly Scope[];
  /** Only if orders can be placed at all. */
  readonly commands?: true;
}

const entries: NavigationEntry[] = [
  { label: 'Orders', names: ['blotter', 'order'], needs: ['orders:read'] },
  { label: 'Fills', names: ['fills'], needs: ['orders:read'] },
  {
    label: 'Commands',
    names: ['commands', 'command'],
    needs: ['orders:read', 'ops:read'],
  },
  { label: 'Place', names: ['ticket'], needs: ['orders:write'], commands: true },
  { label: 'Risk', names: ['risk'], needs: ['orders:read', 'ops:read'] },
  { label: 'Accounts', names: ['accounts'], needs: ['orders:read', 'ops:read'] },
  { label: 'Pipeline', names: ['pipeline'], needs: ['ops:read'] },
  {
    label: 'Dead letters',
    names: ['deadLetters', 'deadLetter'],
    needs: ['ops:read'],
  },
];

/** One screen more, before the page opens: the demo's build has one. */
export function addScreen({
  View: view,
  address,
  ...entry
}: Pick<NavigationEntry, 'label' | 'needs'> & { readonly View: View; readonly address: string }): void {
  addPath(address);
  entries.push({ ...entry, names: ['added'] });
  screens.added = view;
}

/** For the browser's tab: the thing on the screen, the screen, and the console. */
export function titleOf({ screen, params }: Place): string {
  const label = entries.find(({ names }) => names.includes(screen))?.label;
  return joined([...Object.values(params).slice(-1), label, 'Tidemark'], ' – ');
}

/** The screens this reader may open. */
export function navigation(session: Session): readonly NavigationEntry[] {
  return entries.filter(
    ({ needs, commands }) => needs.some((scope) => session.may(scope)) && (commands !== true || session.mayCommand()),
  );
}
