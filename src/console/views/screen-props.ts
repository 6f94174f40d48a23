import type { ConsoleState } from '../state/console-state.ts';

export interface ScreenProps {
  readonly state: ConsoleState;
  /** The parts of the path, each by its grammar. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
}
