import { useEffect, useLayoutEffect, useMemo, useState } from 'preact/hooks';
import { useConsole } from '../parts/console.ts';
import { useKeys } from '../parts/keys.ts';
import { Go, Link } from '../parts/link.tsx';
import { aloneNote } from '../parts/notes.tsx';
import { Time } from '../parts/time-text.tsx';
import { useScrollEnds } from '../parts/use-scroll-ends.ts';
import { useValue } from '../parts/use-value.ts';
import { resetText } from '../parts/words.ts';
import { addressOf, blotterAddress, type Place, placeOf } from '../state/address.ts';
import { isTooSilent } from '../state/doubts.ts';
import { ageText } from '../state/text/age-text.ts';
import { KeysHelp } from './keys-help.tsx';
import { navigation, screens, titleOf } from './screens.tsx';
import { SearchBox } from './search-box.tsx';
import { SignIn } from './sign-in.tsx';
import { TrustBar } from './trust-bar.tsx';

const home = blotterAddress();

/** The page: trust bar and navigation on top, one screen below. */
export function App() {
  const state = useConsole();
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
  if (session.kind === 'signed-out') return <SignIn why={session.why} />;
  if (session.kind === 'checking') return aloneNote('status', 'Connecting …');
  if (session.kind === 'away') return aloneNote('alert', `${session.why} Trying again …`);
  return (
    // A new key: nothing stays of what another reader, or other rights, have shown.
    <Go.Provider key={state.rest.signOuts} value={go}>
      <header class="top">
        <Link to={home} class="brand">
          Tidemark
        </Link>
        <Navigation screen={place.screen} />
        <TrustBar />
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
      <ResetNote />
      <SilenceNote />
      <main>{screenOf(place)}</main>
      {search && <SearchBox close={() => setSearch(false)} />}
      {help && <KeysHelp close={() => setHelp(false)} />}
    </Go.Provider>
  );
}

function screenOf(place: Place) {
  const { screen, params } = place;
  const View = screen === 'unknown' ? undefined : screens[screen];
  if (View === undefined)
    return (
      <p class="alone">
        There is nothing at this address. <Link to={home}>To the orders</Link>
      </p>
    );
  // A new key: what one order has shown is not carried to the next.
  return <View key={[screen, ...Object.values(params)].join(' ')} {...place} />;
}

type GoTo = (address: string, options?: { readonly replace?: boolean }) => void;

function goer(setPlace: (place: Place) => void): GoTo {
  return (address, { replace = false } = {}) => {
    if (replace) history.replaceState(null, '', address);
    else history.pushState(null, '', address);
    setPlace(placeOf(location.pathname, location.search));
  };
}

/** Says that the stream was reset, until the reader has seen it. */
function ResetNote() {
  const { reset } = useConsole();
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
function SilenceNote() {
  const state = useConsole();
  const { silentMs = 0 } = useValue(state.pulse);
  const silent = isTooSilent(silentMs);
  const sinceMs = useMemo(() => state.ports.nowMs() - silentMs, [silent]);
  if (!silent) return null;
  // The age is beside the alert: a reader of the screen would hear it each second.
  return (
    <aside class="note">
      <span role="alert">
        No word from the service since <Time at={sinceMs} />. This page is as it was then: look again before you send an
        order. Trying again …
      </span>
      <b>{ageText(silentMs)} old</b>
    </aside>
  );
}

/**
 * Links to the screens. On a phone they are one scrolling line: the current one is brought to its
 * middle.
 */
function Navigation({ screen }: Pick<Place, 'screen'>) {
  const { session } = useConsole();
  const nav = useScrollEnds();
  useEffect(() => {
    const line = nav.current;
    const current = line?.querySelector('[aria-current]');
    // Not by `scrollIntoView`, which may move the page too.
    if (line && current) line.scrollLeft += middleOf(current) - middleOf(line);
  }, [screen]);
  return (
    <nav aria-label="Screens" ref={nav}>
      {navigation(session).map(({ label, names }) => (
        <Link class="screen-link" to={addressOf(names[0])} current={names.includes(screen)}>
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
