import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { alerts } from '../../grafana/source/generated-files.ts';
import { ensureProgram } from '../support/servers/debian-package.ts';

/** Alerts of operations that must be there, by what they do to people. */
const pages =
  'TargetDown SourceSilent SourceNeverLive AccountsUnfollowed RelayStuck CanaryStale CommandUnknown FreshnessBurn TokenExpiring NoLaneHolder ShardsUnheld PlacingHalted CancelAfterIncomplete CommitsLost TopicReplaced IngestStuck IssuerUnreachable';
const tickets =
  'EventsStale TopicsDiffer ClockSkewed Flapping Quarantined SilentLosses FramesUnrecovered OrdersAbsent ResyncNotRunning QueueSaturated ProducerReplaced Unfit Restarting DatabaseFilling';

const testFiles = globSync('grafana/prometheus/tests/*.test.yml');

beforeAll(() => ensureProgram('promtool', 'prometheus'), 300_000);

function promtool(...args: string[]): string {
  return execFileSync('promtool', args, { encoding: 'utf8', timeout: 60_000 });
}

describe('Prometheus', () => {
  it('takes the configuration, and the rules that it names', () => {
    expect(promtool('check', 'config', 'grafana/prometheus/prometheus.yml')).toContain('2 rule files found');
  });

  it.each(testFiles)('fires and rests as %s says', (file) => {
    expect(promtool('test', 'rules', file)).toContain('SUCCESS');
  });
});

describe('the alerts', () => {
  it('are all there', () => {
    const named = (severity: string) => alerts.filter((alert) => alert.severity === severity).map(({ name }) => name);
    expect(named('page').sort()).toEqual(pages.split(' ').sort());
    expect(named('ticket').sort()).toEqual(tickets.split(' ').sort());
  });

  it('have a case in which they fire, with their words, and one in which they rest', () => {
    const cases = testFiles.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/- alertname: (\w+)\n\s+eval_time: \S+\n\s+exp_alerts:(.*)/g)].map(
        ([, name, rest]) => ({ name, fires: rest?.trim() !== '[]' }),
      ),
    );
    for (const { name } of alerts)
      for (const fires of [true, false])
        expect(
          cases.some((one) => one.name === name && one.fires === fires),
          `${name} ${fires ? 'fires' : 'rests'}`,
        ).toBe(true);
  });
});
