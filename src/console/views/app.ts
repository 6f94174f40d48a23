import { useEffect, useLayoutEffect, useMemo, useState } from 'preact/hooks';
import { html } from '../parts/html.ts';
import { isTyping } from '../parts/is-typing.ts';
import { Go, Link } from '../parts/link.ts';
import { loadAgain } from '../parts/load-again.ts';
import { useValue } from '../parts/use-value.ts';
import { blotterAddress, type Place, placeOf } from '../state/address.ts';
import type { ConsoleState } from '../state/console-state.ts';
import { KeysHelp } from './keys-help.ts';
import { Navigation } from './navigation.ts';
import { ResetNote } from './reset-note.ts';
import { screens } from './screens.ts';
import type { SearchBox } from './search-box.ts';
import { SignIn } from './sign-in.ts';
import { TrustBar } from './trust-bar.ts';

const home = blotterAddress();

/** The page: trust bar and navigation on top, one screen below. */
export function App({ state }: { readonly state: ConsoleState }) {
  const session = useValue(state.session.state);
  const [place, setPlace] = useState<Place>(() => placeOf(location.pathname, location.search));
  const [help, setHelp] = useState(false);
  const [search, setSearch] = useState(false);
  const SearchView = useSearchBox(state);
  const go = useMemo(() => goer(setPlace), []);
  // Not after the first frame: the session starts before that, and shows another address when the
  // reader comes back from the issuer.
  useLayoutEffect(() => {
    const back = () => setPlace(placeOf(location.pathname, location.search));
    addEventListener('popstate', back);
    return () => removeEventListener('popstate', back);
  }, []);
  useEffect(() => {
    const key = (event: KeyboardEvent) => globalKey(event, { place, setHelp, setSearch });
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  }, [place]);
  if (session.kind === 'signed-out') return html`<${SignIn} session=${state.session} why=${session.why} />`;
  if (session.kind === 'checking') return html`<p class="alone" role="status">Connecting …</p>`;
  if (session.kind === 'away') return html`<p class="alone" role="alert">${session.why} Trying again …</p>`;
  return html`<${Go.Provider} value=${go}>
    <header class="top">
      <${Link} to=${home} class="brand">Tidemark<//>
      <${Navigation} state=${state} screen=${place.screen} />
      <${TrustBar} state=${state} />
      <span class="top-end">
        <button class="quiet" title="Search (/)" onClick=${() => setSearch(true)}>Search</button>
        <button class="quiet" aria-label="Keys" title="Keys (?)" onClick=${() => setHelp(true)}>?</button>
        ${session.rights.signIn && html`<button class="quiet" title=${session.rights.principal} onClick=${() => state.session.signOut()}>Sign out</button>`}
      </span>
    </header>
    <${ResetNote} reset=${state.reset} />
    <main>${screenOf(place, state)}</main>
    ${search && SearchView !== undefined && html`<${SearchView} state=${state} close=${() => setSearch(false)} />`}
    ${help && html`<${KeysHelp} close=${() => setHelp(false)} />`}
  <//>`;
}

/**
 * Fetched once the first screen is there, so that it is ready for the first key and the first
 * screen does not wait for it.
 */
function useSearchBox({ ports }: ConsoleState): typeof SearchBox | undefined {
  const [view, setView] = useState<{ readonly SearchBox: typeof SearchBox } | undefined>(undefined);
  useEffect(() => {
    loadAgain(ports, () => import('./search-box.ts'))
      .then(setView)
      .catch(() => undefined);
  }, []);
  return view?.SearchBox;
}

function screenOf({ screen, params, query }: Place, state: ConsoleState) {
  const view = screen === 'unknown' ? undefined : screens[screen];
  if (view === undefined)
    return html`<p class="alone">There is nothing at this address. <${Link} to=${home}>To the orders<//></p>`;
  // A new key: what one order has shown is not carried to the next.
  return html`<${view} key=${[screen, ...Object.values(params)].join(' ')} state=${state} params=${params} query=${query} />`;
}

type GoTo = (address: string, options?: { readonly replace?: boolean }) => void;

function goer(setPlace: (place: Place) => void): GoTo {
  return (address, { replace = false } = {}) => {
    if (replace) history.replaceState(null, '', address);
    else history.pushState(null, '', address);
    setPlace(placeOf(location.pathname, location.search));
  };
}

interface KeyDeps {
  readonly place: Place;
  readonly setHelp: (open: boolean) => void;
  readonly setSearch: (open: boolean) => void;
}

function globalKey(event: KeyboardEvent, { place, setHelp, setSearch }: KeyDeps): void {
  if (isTyping(event) || document.querySelector('dialog[open]') !== null) return;
  if (event.key === '?') setHelp(true);
  else if (event.key === '/') {
    event.preventDefault();
    setSearch(true);
  } else if (event.key === 'Escape' && place.screen !== 'blotter') history.back();
}
