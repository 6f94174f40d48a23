import { useEffect, useMemo, useRef } from 'preact/hooks';
import { CommandList } from '../state/commands/command-list.ts';
import type { CommandFilters } from '../state/commands/command-row.ts';
import type { ConsoleState } from '../state/console-state.ts';
import { useValue } from './use-value.ts';

/** The commands that fit the filters, kept up by the stream while the view is there. */
export function useCommandList(state: ConsoleState, filters: CommandFilters) {
  const list = useMemo(() => new CommandList(state, filters), [state, JSON.stringify(filters)]);
  const shown = useValue(list.state);
  const beginning = useValue(state.beginnings);
  const leave = useRef(new AbortController());
  useEffect(() => {
    const abort = new AbortController();
    leave.current = abort;
    const end = state.results.add((result) => list.takeResult(result));
    void list.load(abort.signal);
    return () => {
      abort.abort();
      end();
    };
  }, [list, beginning]);
  return { shown, again: () => list.load(leave.current.signal), more: () => list.more(leave.current.signal) };
}
