import type { Signal } from '@preact/signals-core';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useKeys } from '../parts/keys.ts';
import { Go, Link } from '../parts/link.tsx';
import { aloneNote } from '../parts/notes.tsx';
import { timeText } from '../parts/time-text.tsx';
import { useScrollEnds } from '../parts/use-scroll-ends.ts';
import { useValue } from '../parts/use-value.ts';
import { resetText } from '../parts/words.ts';
import { addressOf, blotterAddress, type Place, placeOf } from '../state/address.ts';
import type { ConsoleState } from '../state/console-state.ts';
import { isTooSilent } from '../state/doubts.ts';
import { ageText } from '../state/text/age-text.ts';
import { KeysHelp } from './keys-help.tsx';
import { navigation, screens, titleOf } from './screens.tsx';
import { SearchBox } from './search-box.tsx';
import { SignIn } from './sign-in.tsx';
import { TrustBar } from './trust-bar.tsx';

const home = blotterAddress();

/** The page: trust bar and navigation on top, one screen below. */
export function App({ state }: { readonly state: ConsoleState }) {
  const session = useValue(state.session.state);
  useValue(state.today);
  const [place, setPlace] = useState<Place>(() => placeOf(location.pathname, location.search));
  const [help, setHelp] = useState(false);
  const [search, setSearch] = useState(false);
  const go = useMemo(() => goer(setPlace), []);
  // Not after the first frame: the session starts before that, and shows another address when the
  // reader comes back from the issuer.
  useLayoutEffect(() => {
    const back = () => setPlace(placeOf(location.pathname, location.search));
    addEventListener('popstate', back);
    return () => removeEventListener('popstate', back);
  }, []);
  useKeys({
    help: () => setHelp(true),
    search: () => setSearch(true),
    place: state.session.mayCommand() ? () => go(addressOf('ticket')) : undefined,
    back: place.screen === 'blotter' ? undefined : () => history.back(),
  });
  useEffect(() => {
    document.title = titleOf(place);
  }, [place]);
  if (session.kind === 'signed-out') return <SignIn session={state.session} why={session.why} />;
  if (session.kind === 'checking') return aloneNote('status', 'Connecting …');
  if (session.kind === 'away') return aloneNote('alert', `${session.why} Trying again …`);
  return (
    // A new key: nothing stays of what another reader, or other rights, have shown.
    <Go.Provider key={state.rest.signOuts} value={go}>
      <header class="top">
        <Link to={home} class="brand">
          Tidemark
        </Link>
        <Navigation state={state} screen={place.screen} />
        <TrustBar state={state} />
        <span class="top-end">
          <button class="quiet" title="Search (/)" onClick={() => setSearch(true)}>
            Search
          </button>
          <button class="quiet" aria-label="Keys" title="Keys (?)" onClick={() => setHelp(true)}>
            ?
          </button>
          {session.rights.signIn && (
            <button class="quiet" title={session.rights.principal} onClick={() => state.session.signOut()}>
              Sign out
            </button>
          )}
        </span>
      </header>
      <ResetNote reset={state.reset} />
      <SilenceNote state={state} />
      <main>{screenOf(place, state)}</main>
      {search && <SearchBox state={state} close={() => setSearch(false)} />}
      {help && <KeysHelp close={() => setHelp(false)} />}
    </Go.Provider>
  );
}

function screenOf({ screen, params, query }: Place, state: ConsoleState) {
  const View = screen === 'unknown' ? undefined : screens[screen];
  if (View === undefined)
    return (
      <p class="alone">
        There is nothing at this address. <Link to={home}>To the orders</Link>
      </p>
    );
  // A new key: what one order has shown is not carried to the next.
  return <View key={[screen, ...Object.values(params)].join(' ')} state={state} params={params} query={query} />;
}

type GoTo = (address: string, options?: { readonly replace?: boolean }) => void;

function goer(setPlace: (place: Place) => void): GoTo {
  return (address, { replace = false } = {}) => {
    if (replace) history.replaceState(null, '', address);
    else history.pushState(null, '', address);
    setPlace(placeOf(location.pathname, location.search));
  };
}

interface ResetNoteProps {
  readonly reset: Signal<{ readonly reason: string; readonly atMs: number } | undefined>;
}

/** Says that the stream was reset, until the reader has seen it. */
function ResetNote({ reset }: ResetNoteProps) {
  const last = useValue(reset);
  if (last === undefined) return null;
  const dismiss = () => {
    reset.value = undefined;
  };
  return (
    <div class="note" role="alert">
      <span>{resetText(last.reason)}</span>
      <time>{new Date(last.atMs).toLocaleTimeString()}</time>
      <button class="quiet" onClick={dismiss}>
        Dismiss
      </button>
    </div>
  );
}

/** Says on each screen how old it is, while nothing comes from the service. */
function SilenceNote({ state }: { readonly state: ConsoleState }) {
  const { silentMs = 0 } = useValue(state.pulse);
  const silent = isTooSilent(silentMs);
  const sinceMs = useMemo(() => state.ports.nowMs() - silentMs, [silent]);
  if (!silent) return null;
  // The age is beside the alert: a reader of the screen would hear it each second.
  return (
    <aside class="note">
      <span role="alert">
        No word from the service since {timeText(new Date(sinceMs).toISOString(), state.ports.nowMs())}. This page is as
        it was then: look again before you send an order. Trying again …
      </span>
      <b>{ageText(silentMs)} old</b>
    </aside>
  );
}

interface NavigationProps {
  readonly state: ConsoleState;
  readonly screen: Place['screen'];
}

/**
 * Links to the screens. On a phone they are one scrolling line: the current one is brought to its
 * middle.
 */
function Navigation({ state, screen }: NavigationProps) {
  const nav = useRef<HTMLElement>(null);
  useScrollEnds(nav);
  useEffect(() => {
    const line = nav.current;
    const current = line?.querySelector('[aria-current]');
    // Not by `scrollIntoView`, which may move the page too.
    if (line && current) line.scrollLeft += middleOf(current) - middleOf(line);
  }, [screen]);
  return (
    <nav aria-label="Screens" ref={nav}>
      {navigation(state.session).map(({ label, address, names }) => (
        <Link class="screen-link" to={address} current={names.includes(screen)}>
          {label}
        </Link>
      ))}
    </nav>
  );
}

function middleOf(element: Element): number {
  const { left, width } = element.getBoundingClientRect();
  return left + width / 2;
}
