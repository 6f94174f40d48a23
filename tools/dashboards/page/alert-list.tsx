import type { DrawnDashboard } from '../read-dashboard.ts';

/** An `alertlist` panel. Its real drawing is in Grafana itself, not in its library: this is a list with the same words. */
export function AlertList({ alerts }: Pick<DrawnDashboard, 'alerts'>) {
  if (alerts.length === 0) return <p className="no-data">No alerts</p>;
  return (
    <ul className="alerts">
      {alerts.map(({ labels, annotations, state, activeAt }) => (
        <li key={JSON.stringify(labels)}>
          <b className={state}>{state}</b> {labels['alertname']} ({labels['severity']}) since {activeAt.slice(11, 19)}:{' '}
          {annotations['summary']}
        </li>
      ))}
    </ul>
  );
}
