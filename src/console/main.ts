import { h, render } from 'preact';
import { Console } from './parts/console.ts';
import { loadAgain } from './parts/load-again.ts';
import { keepPressesWhole } from './parts/whole-press.ts';
import { ConsoleState } from './state/console-state.ts';
import { framePace } from './state/frame-pace.ts';
import type { Ports, Timer } from './state/ports.ts';
import { sleeplessClock } from './state/sleepless-clock.ts';
import { App } from './views/app.tsx';

// The only file that touches the browser's clock, timers, randomness, network and storage.

const monotonicMs = sleeplessClock(
  () => performance.now(),
  () => Date.now(),
);

function after(ms: number, run: () => void): Timer {
  const timer = setTimeout(run, ms);
  return { cancel: () => clearTimeout(timer) };
}

const pacedFrame = framePace({ monotonicMs, after, next: nextFrame });

const turns: (() => void)[] = [];
const channel = new MessageChannel();
channel.port1.onmessage = () => turns.shift()?.();

/** By a message: a timer waits for a second in a hidden tab, too long for the stream. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    turns.push(resolve);
    channel.port2.postMessage(undefined);
  });
}

const ports: Ports = {
  fetch: (path, request) => fetch(path, { ...request, credentials: 'omit', cache: 'no-store', redirect: 'error' }),
  nowMs: () => Date.now(),
  monotonicMs,
  after,
  frame,
  turn,
  random: () => Math.random(),
  newId,
  tabStore: storeOf(sessionStorage),
  keptStore: storeOf(localStorage),
  askIssuer: (url, request) => fetch(url, { ...request, credentials: 'omit', cache: 'no-store' }),
  page: {
    origin: location.origin,
    secure: isSecureContext,
    address: () => ({ path: location.pathname, query: location.search }),
    show: (address) => {
      history.replaceState(null, '', address);
      dispatchEvent(new PopStateEvent('popstate'));
    },
    leaveFor: (url) => location.assign(url),
    whenSeen,
  },
};

function storeOf(storage: Storage): Ports['tabStore'] {
  return {
    read: (name) => storage.getItem(name) ?? undefined,
    write: (name, text) => storage.setItem(name, text),
    forget: (name) => storage.removeItem(name),
  };
}

function whenSeen(run: () => void): void {
  if (document.hidden) document.addEventListener('visibilitychange', () => whenSeen(run), { once: true });
  else run();
}

/** As `crypto.randomUUID`. A browser has that only on a page from this machine or by TLS. */
function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/**
 * A frame asked for just before the tab was hidden is never drawn. It runs after a second all the
 * same, or the page would stand still.
 */
function nextFrame(run: () => void): void {
  const timer = setTimeout(() => {
    cancelAnimationFrame(drawn);
    run();
  }, 1000);
  const drawn = requestAnimationFrame(() => {
    clearTimeout(timer);
    run();
  });
}

/** A hidden tab draws no frames, and must not let changes pile up: there it runs once a second. */
function frame(run: () => void): void {
  if (document.hidden) setTimeout(run, 1000);
  else pacedFrame(run);
}

const place = document.getElementById('console');
if (place === null) throw new Error('the page has no place for the console');
keepPressesWhole(ports);
const state = new ConsoleState(ports);
render(h(Console.Provider, { value: state, children: h(App, null) }), place);
void state.start();

// A module runs once the style sheets were loaded, or could not be.
for (const link of document.querySelectorAll<HTMLLinkElement>('link[rel=stylesheet]'))
  if (!isLoaded(link)) loadAgain(ports, () => loadStyle(link)).catch(reportError);

/** The rules in a sheet that could not be fetched cannot be read. */
function isLoaded({ sheet }: HTMLLinkElement): boolean {
  try {
    return sheet !== null && sheet.cssRules.length > 0;
  } catch {
    return false;
  }
}

/** In the same place, to keep the order of the styles: the browser fetches it anew. */
function loadStyle(link: HTMLLinkElement): Promise<unknown> {
  return new Promise((resolve, reject) => {
    link.onload = resolve;
    link.onerror = () => reject(new Error(`${link.href} could not be loaded`));
    link.replaceWith(link);
  });
}
