import {
  applyFieldOverrides,
  type createTheme,
  type DataFrame,
  type FieldConfigPropertyItem,
  FieldType,
  getTimeZone,
  Registry,
} from '@grafana/data';
import type { DrawnDashboard } from '../read-dashboard.ts';

export type ShownPanel = DrawnDashboard['panels'][number] & {
  // biome-ignore lint/suspicious/noExplicitAny: the JSON as Grafana reads it
  readonly [name: string]: any;
};
export type Theme = ReturnType<typeof createTheme>;

/** Of timeseries panels, where the JSON says nothing. Grafana keeps them with the panel and not in its library. */
const lineDefaults = {
  lineInterpolation: 'linear',
  gradientMode: 'none',
  axisPlacement: 'auto',
  pointSize: 5,
  barAlignment: 0,
};

/** The data of a panel as Grafana's datasource gives them, with the panel's units, colours, limits and words. */
export function framesOf(panel: ShownPanel, stepMs: number, theme: Theme): DataFrame[] {
  const frames = panel.series.map(({ legend, labels, times, values }) => ({
    name: legend,
    length: times.length,
    fields: [
      { name: 'Time', type: FieldType.time, values: [...times], config: { interval: stepMs } },
      { name: 'Value', type: FieldType.number, values: [...values], labels, config: { displayNameFromDS: legend } },
    ],
  }));
  const { defaults, overrides } = panel.fieldConfig;
  const custom = panel.type === 'timeseries' ? { ...lineDefaults, ...defaults.custom } : {};
  return applyFieldOverrides({
    data: frames as DataFrame[],
    fieldConfig: { defaults: { ...defaults, custom }, overrides },
    fieldConfigRegistry: properties([...Object.keys(defaults)], Object.keys(custom)),
    replaceVariables: (text) => text,
    theme,
    timeZone: getTimeZone(),
  });
}

/** Grafana applies what a registry names, and fills it with its editors, which the library does not have. */
function properties(plain: readonly string[], custom: readonly string[]): Registry<FieldConfigPropertyItem> {
  const item = (id: string, path: string, isCustom: boolean) => ({
    ...{ id, path, isCustom, name: id, settings: {} },
    process: (value: unknown) => value,
    shouldApply: (field: { type: FieldType }) => field.type === FieldType.number,
  });
  const all = [...plain.map((id) => item(id, id, false)), ...custom.map((id) => item(`custom.${id}`, id, true))];
  return new Registry(() => all as unknown as FieldConfigPropertyItem[]);
}
