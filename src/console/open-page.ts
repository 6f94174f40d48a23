import { render } from 'preact';
import { html } from './parts/html.ts';
import { ConsoleState } from './state/console-state.ts';
import type { Ports } from './state/ports.ts';
import { App } from './views/app.ts';

/** Begins the page; `place` is the element that holds it. Loads all modules of the first screen. */
export function openPage(ports: Ports, place: Element): void {
  const state = new ConsoleState(ports);
  render(html`<${App} state=${state} />`, place);
  void state.start();
}
