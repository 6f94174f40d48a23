import type { ConsoleState } from '../state/console-state.ts';

export interface ScreenProps {
  readonly state: ConsoleState;
  /** The parts of the path, each of its grammar. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
}
