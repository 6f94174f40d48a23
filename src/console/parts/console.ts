import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { ConsoleState } from '../state/console-state.ts';

/** For every view: what the console knows, and its ports. */
export const Console = createContext<ConsoleState | undefined>(undefined);

export function useConsole(): ConsoleState {
  const state = useContext(Console);
  if (state === undefined) throw new Error('a view stands outside the console');
  return state;
}
