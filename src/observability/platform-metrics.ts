import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

export function platformMetrics(registry: Registry) {
  const registers = [registry];
  return {
    requestSeconds: new Histogram({
      name: 'tidemark_platform_request_seconds',
      help: 'Time of one request to the platform; code_class 2xx to 5xx, or none when no answer came',
      labelNames: ['operation', 'code_class'] as const,
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.5, 2.5, 5.5, 10.5],
      registers,
    }),
    tokenExpiry: new Gauge({
      name: 'tidemark_token_expiry_timestamp_seconds',
      help: 'When the first of the access tokens in use expires',
      registers,
    }),
    credentials: new Gauge({
      name: 'tidemark_credentials',
      help: 'Credentials in each state: held, waiting, login_required (a person has to sign in)',
      labelNames: ['state'] as const,
      registers,
    }),
    tokenRefresh: new Counter({
      name: 'tidemark_token_refresh_total',
      help: 'Attempts to get a new access token, by outcome: ok, refused, failed',
      labelNames: ['outcome'] as const,
      registers,
    }),
  };
}
