import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { agentThrough } from '../runtime/connector-through.ts';
import { Proxies } from '../runtime/proxies.ts';
import type { Secret } from '../runtime/secret.ts';
import type { Service } from '../runtime/supervisor.ts';
import { withDeadline } from '../runtime/waiting.ts';
import type { Ambient } from './ambient.ts';
import { Tracing } from './tracing.ts';

interface OpenTracingDeps extends Ambient {
  readonly proxies?: Proxies;
}

export type SamplerName =
  | 'always_on'
  | 'always_off'
  | 'traceidratio'
  | 'parentbased_always_on'
  | 'parentbased_always_off'
  | 'parentbased_traceidratio';

interface OpenTracingOptions {
  /** Without `/v1/traces`. */
  readonly endpoint: string;
  /** `name=value,name=value`, values percent-encoded. */
  readonly headers?: Secret | undefined;
  readonly serviceName: string;
  readonly version: string;
  readonly sampler: SamplerName;
  /** From 0 to 1, for the two samplers by ratio. */
  readonly ratio: number;
}

/** Traces, and the part that sends the rest when the process ends. */
export interface OpenedTracing extends Service {
  readonly tracing: Tracing;
}

/**
 * A span takes about 1 kB: the spans waiting for the collector stay below some 3 MB. Further spans
 * are dropped.
 */
const queue = { maxQueueSize: 2048, maxExportBatchSize: 512, scheduledDelayMillis: 1000, exportTimeoutMillis: 12_000 };
/** For one batch, with the exporter's own repeats. */
const exportMs = 10_000;
/** Through a proxy. */
const connectMs = 5_000;
/** The drain goes on after this time, and the rest is dropped. */
const flushMs = 2_000;

/**
 * Traces over OTLP/HTTP in JSON. This file alone knows the SDK, and is loaded only if traces are
 * on. Nothing in it is global.
 */
export function openTracing(deps: OpenTracingDeps, options: OpenTracingOptions): OpenedTracing {
  const url = `${options.endpoint}/v1/traces`;
  const agent = agentThrough({ clock: deps.clock, proxies: deps.proxies ?? new Proxies() }, new URL(url), connectMs);
  const exporter = new OTLPTraceExporter({
    url,
    ...(agent && { httpAgentOptions: () => agent }),
    headers: readHeaders(options.headers),
    timeoutMillis: exportMs,
    // At the end of the process, the whole queue leaves at once behind a batch that may be under
    // way.
    concurrencyLimit: queue.maxQueueSize / queue.maxExportBatchSize + 1,
  });
  return startTracing(
    deps,
    options,
    new BatchSpanProcessor({ ...queue, exporter: new ReportedExporter(deps, exporter) }),
  );
}

/** The same with another processor, for tests that look at the spans themselves. */
export function startTracing(
  { clock, random }: Pick<OpenTracingDeps, 'clock' | 'random'>,
  { serviceName, version, sampler, ratio }: Omit<OpenTracingOptions, 'endpoint' | 'headers'>,
  processor: SpanProcessor,
): OpenedTracing {
  const digits = () => random.uuid().replaceAll('-', '');
  const provider = new TracerProvider({
    sampler: samplerOf(sampler, ratio),
    resource: resourceFromAttributes({
      'service.name': serviceName,
      'service.version': version,
      'service.instance.id': random.uuid(),
    }),
    idGenerator: { generateTraceId: digits, generateSpanId: () => digits().slice(16) },
    spanLimits: { attributeValueLengthLimit: 500, attributeCountLimit: 32, eventCountLimit: 16, linkCountLimit: 4 },
    spanProcessors: [processor],
  });
  return {
    name: 'tracing',
    tracing: new Tracing({ tracer: provider.getTracer('tidemark', version), clock }),
    start: async () => undefined,
    drain: async (signal) => {
      const flushed = withDeadline(clock, signal.aborted ? 0 : flushMs, 'sending the last spans', provider.shutdown());
      // The exporter reported a failure already, or the collector does not answer: spans are not
      // worth a longer drain.
      await flushed.catch(() => undefined);
    },
  };
}

function samplerOf(name: SamplerName, ratio: number): Sampler {
  const roots = {
    always_on: () => new AlwaysOnSampler(),
    always_off: () => new AlwaysOffSampler(),
    traceidratio: () => new TraceIdRatioBasedSampler(ratio),
  } as const;
  const root = roots[name.replace('parentbased_', '') as keyof typeof roots]();
  return name.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root;
}

/** The option table has checked the shape. */
function readHeaders(headers: Secret | undefined): Record<string, string> {
  const pairs = (headers?.reveal() ?? '').split(',').filter((pair) => pair.trim() !== '');
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      return [pair.slice(0, at).trim(), decodeURIComponent(pair.slice(at + 1).trim())];
    }),
  );
}

/**
 * One warning when the collector begins to fail, and one line when it works again, with the number
 * of lost spans.
 */
class ReportedExporter implements SpanExporter {
  private lost = 0;
  private readonly deps: Pick<OpenTracingDeps, 'log'>;
  private readonly exporter: SpanExporter;

  constructor(deps: ReportedExporter['deps'], exporter: SpanExporter) {
    this.deps = deps;
    this.exporter = exporter;
  }

  export(...[spans, onResult]: Parameters<SpanExporter['export']>): void {
    this.exporter.export(spans, (result) => {
      if (result.error !== undefined || result.code !== 0) this.failed(spans.length, result.error);
      else this.passed();
      onResult(result);
    });
  }

  shutdown(): Promise<void> {
    return this.exporter.shutdown();
  }

  async forceFlush(): Promise<void> {
    await this.exporter.forceFlush?.();
  }

  private failed(spans: number, error: Error | undefined): void {
    if (this.lost === 0)
      this.deps.log.warn(
        { reason: error?.message },
        'traces cannot be sent and are dropped until they can: is OTEL_EXPORTER_OTLP_ENDPOINT the OTLP/HTTP port of the collector (4318 as a rule)?',
      );
    this.lost += spans;
  }

  private passed(): void {
    if (this.lost > 0) this.deps.log.info({ lostSpans: this.lost }, 'traces are sent again');
    this.lost = 0;
  }
}
