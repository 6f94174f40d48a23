import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

interface Value {
  readonly stringValue?: string;
  readonly boolValue?: boolean;
  readonly intValue?: number | string;
  readonly arrayValue?: { readonly values: readonly Value[] };
}

/** A span as OTLP/JSON has it (opentelemetry-proto, trace.proto), attributes as an object. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly links: readonly { readonly spanId: string }[];
  readonly about: Readonly<Record<string, unknown>>;
  readonly resource: Readonly<Record<string, unknown>>;
}

type Attributes = readonly { readonly key: string; readonly value: Value }[];

interface Export {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: Attributes };
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<ReceivedSpan, 'about'> & { attributes: Attributes })[];
    }[];
  }[];
}

/** A collector: takes OTLP/HTTP in JSON on a real port, and keeps the spans. */
export async function startOtlpReceiver() {
  const spans: ReceivedSpan[] = [];
  const requests: { readonly path: string | undefined; readonly headers: IncomingHttpHeaders }[] = [];
  const receiver = { spans, requests, status: 200 };
  const server = createServer(async (request, response) => {
    requests.push({ path: request.url, headers: request.headers });
    const { resourceSpans } = (await json(request)) as Export;
    if (receiver.status === 200)
      for (const { resource, scopeSpans } of resourceSpans)
        for (const { attributes, ...span } of scopeSpans.flatMap((scope) => scope.spans))
          spans.push({
            ...span,
            links: span.links ?? [],
            about: read(attributes),
            resource: read(resource.attributes),
          });
    response.writeHead(receiver.status, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return Object.assign(receiver, { address: `http://127.0.0.1:${port}`, close });
}

function read(attributes: Attributes): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, readValue(value)]));
}

function readValue({ stringValue, boolValue, intValue, arrayValue }: Value): unknown {
  return (
    arrayValue?.values.map(readValue) ??
    stringValue ??
    boolValue ??
    (intValue === undefined ? undefined : Number(intValue))
  );
}
