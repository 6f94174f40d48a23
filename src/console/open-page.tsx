import { render } from 'preact';
import { keepPressesWhole } from './parts/whole-press.ts';
import { ConsoleState } from './state/console-state.ts';
import type { Ports } from './state/ports.ts';
import { App } from './views/app.tsx';

/** Begins the page in the element `place`. Loads all modules for the first screen. */
export function openPage(ports: Ports, place: Element): void {
  keepPressesWhole(ports);
  const state = new ConsoleState(ports);
  render(<App state={state} />, place);
  void state.start();
}
