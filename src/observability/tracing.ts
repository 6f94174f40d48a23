import {
  type Attributes,
  createTraceState,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { Clock } from '../runtime/clock.ts';
import { dropOldest } from '../runtime/drop-oldest.ts';

interface Beginning {
  readonly kind?: keyof typeof kinds;
  readonly parent?: SpanContext | undefined;
  /**
   * It comes after its parent has ended, and the parent caused it: a link says so beside the
   * parent.
   */
  readonly follows?: boolean;
  /** Monotonic time in milliseconds; left out: now. */
  readonly sinceMs?: number | undefined;
  readonly attributes?: Attributes;
}

const kinds = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
} as const;

/** W3C Trace Context, level 1. A later version may have more at its end. */
const traceparentPattern = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** 10,000 commands take about 3 MB. */
const mostCommands = 10_000;

/**
 * Traces, if they are turned on. Every part takes it as an optional one, and does without when they
 * are off (docs/decisions/042-traces-at-the-edges.md).
 *
 * Times come from our clock and ids from our `Random`, as everywhere. No call waits, and none
 * fails. Invariant: at most 10,000 commands are remembered, the newest, and only those with a
 * recorded trace.
 */
export class Tracing {
  private readonly commands = new Map<string, SpanContext>();
  private readonly deps: { readonly tracer: Tracer; readonly clock: Clock };

  constructor(deps: Tracing['deps']) {
    this.deps = deps;
  }

  begin(name: string, { kind = 'internal', parent, follows, sinceMs, attributes = {} }: Beginning = {}): TracedSpan {
    const { tracer, clock } = this.deps;
    const nowMs = clock.monotonicMs();
    const startMs = sinceMs ?? nowMs;
    const startTime = clock.nowMs() - (nowMs - startMs);
    const options = {
      kind: kinds[kind],
      startTime,
      attributes,
      ...(parent !== undefined && follows && { links: [{ context: parent }] }),
    };
    const context = parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent);
    return new TracedSpan(tracer.startSpan(name, options, context), { clock, startMs, startTime });
  }

  /** This command's steps and records belong to the trace of `context`, if it is recorded. */
  rememberCommand(commandId: string, context: SpanContext): void {
    if (!isSampled(context)) return;
    this.commands.set(commandId, context);
    dropOldest(this.commands, mostCommands);
  }

  /**
   * The caller's span, from its headers; undefined if there is none, or none that can be read: a
   * trace never makes a request fail.
   */
  callersSpan(headers: Readonly<Record<string, string | readonly string[] | undefined>>): SpanContext | undefined {
    const { traceparent, tracestate } = headers;
    const [, version, traceId = '', spanId = '', flags = '', rest] =
      (typeof traceparent === 'string' && traceparentPattern.exec(traceparent)) || [];
    if (version === undefined || (version === '00' && rest !== undefined)) return undefined;
    const context: SpanContext = {
      traceId,
      spanId,
      traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED,
      isRemote: true,
      ...(typeof tracestate === 'string' && { traceState: createTraceState(tracestate) }),
    };
    return isSpanContextValid(context) ? context : undefined;
  }

  /**
   * Undefined: its trace is not recorded, or it was taken over from another process, or 10,000
   * others came since.
   */
  ofCommand(commandId: string): SpanContext | undefined {
    return this.commands.get(commandId);
  }
}

/** One span. It is sent to the collector after its end. */
export class TracedSpan {
  private readonly span: Span;
  private readonly times: { readonly clock: Clock; readonly startMs: number; readonly startTime: number };

  constructor(span: Span, times: TracedSpan['times']) {
    this.span = span;
    this.times = times;
  }

  get context(): SpanContext {
    return this.span.spanContext();
  }

  /** It will be sent, and spans that continue it may be too. */
  get sampled(): boolean {
    return isSampled(this.context);
  }

  /** As the header `traceparent` (W3C Trace Context, level 1). */
  get traceparent(): string {
    const { traceId, spanId, traceFlags } = this.context;
    return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
  }

  set(attributes: Attributes): void {
    this.span.setAttributes(attributes);
  }

  /** `failed`: why, in a few words. `atMs`: monotonic time; left out: now. */
  end({ failed, atMs }: { readonly failed?: string | undefined; readonly atMs?: number } = {}): void {
    const { clock, startMs, startTime } = this.times;
    if (failed !== undefined) this.span.setStatus({ code: SpanStatusCode.ERROR, message: failed });
    this.span.end(startTime + Math.max(0, (atMs ?? clock.monotonicMs()) - startMs));
  }
}

function isSampled({ traceFlags }: SpanContext): boolean {
  return (traceFlags & TraceFlags.SAMPLED) !== 0;
}
