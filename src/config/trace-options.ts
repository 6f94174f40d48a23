import { baseUrl, inGroup, integer, oneOf, secret, text } from './option.ts';

/**
 * OpenTelemetry, by its own specification's names. Certificates and compression have variables too,
 * but the exporter reads them by itself.
 */
export const traceOptions = inGroup('Traces', {
  otlpEndpoint: baseUrl({
    env: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    describe:
      'Turns traces on: the OTLP/HTTP port of a collector (http://localhost:4318). Traces are sent as JSON to its path `/v1/traces`. Only `serve` sends traces. A collector that does not answer costs one warning.',
  }),
  otlpHeaders: secret({
    env: 'OTEL_EXPORTER_OTLP_HEADERS',
    shape: 'name=value, several separated by commas, values percent-encoded',
    pattern: /^\s*[\w.-]+\s*=(?:[^%,]|%[0-9A-Fa-f]{2})*(?:,\s*[\w.-]+\s*=(?:[^%,]|%[0-9A-Fa-f]{2})*)*$/,
    describe: 'Headers of each request to the collector, for its sign-in (`api-key=…`).',
  }),
  otelServiceName: text({
    env: 'OTEL_SERVICE_NAME',
    pattern: /^[\x20-\x7e]{1,100}$/,
    shape: '1 to 100 visible characters',
    fallback: 'tidemark',
    describe: 'The name of the service in its traces.',
  }),
  tracesSampler: oneOf({
    env: 'OTEL_TRACES_SAMPLER',
    words: [
      'parentbased_always_on',
      'parentbased_traceidratio',
      'parentbased_always_off',
      'always_on',
      'traceidratio',
      'always_off',
    ],
    fallback: 'parentbased_always_on',
    describe:
      'Which traces are recorded. `parentbased_…`: the `traceparent` of a caller decides, and without one the second part of the word.',
  }),
  tracesSamplerArg: text({
    env: 'OTEL_TRACES_SAMPLER_ARG',
    pattern: /^(?:0(?:\.\d{1,9})?|1(?:\.0{1,9})?)$/,
    shape: 'a number from 0 to 1',
    fallback: '1',
    describe: 'For the samplers with `traceidratio`: the share of traces that is recorded, such as 0.1.',
  }),
  traceUpdatesEvery: integer({
    env: 'TIDEMARK_TRACE_UPDATES_EVERY',
    unit: 'updates',
    min: 0,
    max: 1_000_000_000,
    fallback: '1000',
    describe:
      "One update in so many, chosen at random, begins a trace, if the sampler takes it. 0: no update does. The updates of a traced command's order are in its trace.",
  }),
});
