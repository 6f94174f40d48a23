import 'uplot/dist/uPlot.min.css';
import './page.css';
import { createTheme, ThemeContext } from '@grafana/data';
import { GlobalStyles } from '@grafana/ui';
import type { ReactNode } from 'react';
import { flushSync } from 'react-dom';
import { createRoot } from 'react-dom/client';
import type { DrawnDashboard } from '../read-dashboard.ts';
import { Panels } from './panels.tsx';

/** Draws a dashboard into the page. Called from outside, by the name under which the page is bundled. */
export async function draw(dashboard: DrawnDashboard, mode: 'light' | 'dark'): Promise<void> {
  const theme = createTheme({ colors: { mode } });
  const root = createRoot(document.body);
  const show = (content: ReactNode) =>
    root.render(
      <ThemeContext.Provider value={theme}>
        <GlobalStyles />
        {content}
      </ThemeContext.Provider>,
    );
  flushSync(() => show(null));
  // Texts are measured before they are drawn, so the fonts that the styles name have to be there first.
  await Promise.all([400, 500].map((weight) => document.fonts.load(`${weight} 14px ${theme.typography.fontFamily}`)));
  show(
    <>
      <h1>{dashboard.title}</h1>
      <Panels dashboard={dashboard} theme={theme} />
    </>,
  );
}
