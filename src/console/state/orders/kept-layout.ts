import type { ConsoleState } from '../console-state.ts';
import { defaultView, type Layout, queryOf, viewOf } from './blotter-view.ts';

type Reader = Pick<ConsoleState, 'ports' | 'session'>;

/** Each reader has their own layout in this browser. */
function nameOf({ session }: Reader): string {
  return `tidemark.layout ${session.rights?.principal ?? ''}`;
}

export function keptLayout(reader: Reader): Layout {
  return viewOf(new URLSearchParams(reader.ports.keptStore.read(nameOf(reader)) ?? ''));
}

export function keepLayout(reader: Reader, { columns, widths }: Layout): void {
  const text = queryOf({ ...defaultView, columns, widths });
  if (text === '') reader.ports.keptStore.forget(nameOf(reader));
  else reader.ports.keptStore.write(nameOf(reader), text);
}
