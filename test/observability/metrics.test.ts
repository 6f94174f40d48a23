import { describe, expect, it } from 'vitest';
import { streams } from '../../src/domain/order.ts';
import { createMetrics, initialiseMetrics } from '../../src/observability/metrics.ts';

const metrics = createMetrics();
initialiseMetrics(metrics, '1.2.3');

const known = await metrics.registry.getMetricsAsJSON();
const ours = known.filter(({ name }) => /^(tidemark|http)_/.test(name));
const text = await metrics.registry.metrics();

describe('every metric', () => {
  it('carries one of our prefixes, or one of those that every Node process has', () => {
    expect(known.map(({ name }) => name).filter((name) => !/^(tidemark|http|nodejs|process)_/.test(name))).toEqual([]);
    expect(ours.length).toBeGreaterThan(30);
  });

  it('says what it is, without the name of its own', () => {
    for (const { name, help } of ours) expect(help.length, name).toBeGreaterThan(2);
  });

  it('is in base units: seconds and bytes, timestamps rather than ages', () => {
    const offenders = ours.filter(({ name }) =>
      /_(ms|millis|milliseconds|minutes|hours|kb|mb|kib|mib|percent|age|ago)(_|$)/.test(name),
    );
    expect(offenders.map(({ name }) => name)).toEqual([]);
  });

  it('ends in _total where it only counts up, and nowhere else', () => {
    for (const { name, type } of ours) expect(name.endsWith('_total'), name).toBe(String(type) === 'counter');
  });

  it('measures times in a histogram that is named in seconds', () => {
    const times = ours.filter(({ type, name }) => String(type) === 'histogram' && name !== 'tidemark_batch_size');
    for (const { name } of times) expect(name).toMatch(/_seconds$/);
  });

  it('has no boundary that is a whole number: Prometheus 3 writes those differently in rules', () => {
    const bounds = [...text.matchAll(/^(?:tidemark|http)_\w+_bucket\{.*?le="([^"]+)"/gm)].map((match) => match[1]);
    expect(bounds.length).toBeGreaterThan(100);
    expect(bounds.filter((bound) => bound !== '+Inf' && Number.isInteger(Number(bound)))).toEqual([]);
  });

  it('is never labelled by order, account, symbol or anything else without a bound', () => {
    const labels = [...text.matchAll(/^(?:tidemark|http)_\w+\{([^}]*)\}/gm)].flatMap((match) =>
      [...(match[1] ?? '').matchAll(/(\w+)="/g)].map((label) => label[1]),
    );
    const bounded = [
      'le',
      'stream',
      'cause',
      'move',
      'result',
      'stage',
      'source',
      'state',
      'type',
      'topic',
      'reason',
      'version',
      'status',
      'operation',
      'code_class',
      'method',
      'route',
      'kind',
      'evidence',
      'result',
      'scope',
      'by',
      'limit',
      'port',
      'purpose',
    ];
    expect([...new Set(labels)].filter((label) => !bounded.includes(String(label)))).toEqual([]);
  });
});

describe('known series', () => {
  it.each([
    'tidemark_observations_total{stream="prediction",cause="probe",result="dead_lettered"} 0',
    'tidemark_source_state{source="account",state="live"} 0',
    'tidemark_source_silent_losses_total{source="prediction"} 0',
    'tidemark_source_last_frame_timestamp_seconds{source="account"} 0',
    'tidemark_publish_records_total{topic="updates",result="failed"} 0',
    'tidemark_publish_resent_total{reason="overflow"} 0',
    'tidemark_producer_replaced_total{reason="missing_ack"} 0',
    'tidemark_source_reconnects_total{source="account",reason="idle"} 0',
    'tidemark_token_refresh_total{result="refused"} 0',
    'tidemark_credentials{state="login_required"} 0',
    'tidemark_commands_total{kind="replace",result="unknown"} 0',
    'tidemark_commands_unresolved{kind="place"} 0',
    'tidemark_command_resolutions_total{kind="cancel",result="moot",evidence="probe"} 0',
    'tidemark_placing_halted{scope="account"} 0',
    'tidemark_lane_takeovers_total{cause="expired"} 0',
    'tidemark_lane_takeover_seconds_count{cause="expired"} 0',
    'tidemark_fenced_total{by="postgres"} 0',
    'tidemark_fenced_total{by="kafka"} 0',
    'tidemark_build_info{version="1.2.3"} 1',
  ])('exist from the first scrape: %s', (line) => {
    expect(text.split('\n')).toContain(line);
  });

  it('include those of Node', () => {
    expect(text).toMatch(/^nodejs_eventloop_lag_seconds /m);
    expect(text).toMatch(/^process_resident_memory_bytes /m);
  });
});

it('a second set of metrics does not meet the first', async () => {
  const other = createMetrics();
  other.source.gaps.inc({ source: 'account' });
  expect(text).toContain('tidemark_source_gaps_total{source="account"} 0');
  expect(await other.registry.metrics()).toContain('tidemark_source_gaps_total{source="account"} 1');
});

describe('issue: The first silent loss, or gap, of an Alpaca account raised no alert.', () => {
  it('every stream has its series from the start, since a rise is seen from one sample to the next', () => {
    for (const source of streams) expect(text).toContain(`tidemark_source_silent_losses_total{source="${source}"} 0`);
  });
});
