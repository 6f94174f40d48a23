import { getFieldDisplayValues, getTimeZone } from '@grafana/data';
import { BigValue } from '@grafana/ui';
import { framesOf, type ShownPanel, type Theme } from './frames.tsx';

interface FigureProps {
  readonly panel: ShownPanel;
  readonly theme: Theme;
  readonly width: number;
  readonly height: number;
}

/** A `stat` panel: one figure with its colour; where there are no data, the words for that. */
export function Figure({ panel, theme, width, height }: FigureProps) {
  const { reduceOptions, colorMode, graphMode, textMode, justifyMode } = panel.options;
  const [value] = getFieldDisplayValues({
    fieldConfig: panel.fieldConfig,
    reduceOptions,
    replaceVariables: (text) => text,
    theme,
    data: framesOf(panel, 0, theme),
    timeZone: getTimeZone(),
  });
  if (value === undefined) return null;
  const modes = { colorMode, graphMode, textMode, justifyMode };
  return <BigValue value={value.display} {...modes} {...{ width, height, theme }} />;
}
