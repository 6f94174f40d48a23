import { useMemo, useRef } from 'preact/hooks';
import { CommandList } from '../state/commands/command-list.ts';
import type { CommandFilters } from '../state/commands/command-row.ts';
import { useConsole } from './console.ts';
import { useValue } from './use-value.ts';
import { useWhileShown } from './use-while-shown.ts';

/** The commands that fit the filters, kept up by the stream while the view is there. */
export function useCommandList(filters: CommandFilters) {
  const state = useConsole();
  const list = useMemo(() => new CommandList(state, filters), [JSON.stringify(filters)]);
  const shown = useValue(list.state);
  const beginning = useValue(state.beginnings);
  const until = useRef(AbortSignal.abort());
  useWhileShown(
    (signal) => {
      until.current = signal;
      state.results.add((result) => list.takeResult(result), signal);
      return list.load(signal);
    },
    [list, beginning],
  );
  return { shown, again: () => list.load(until.current), more: () => list.more(until.current) };
}
