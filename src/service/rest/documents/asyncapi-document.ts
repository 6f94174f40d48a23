import type { z } from 'zod';
import { commandResultRecord } from '../../../contract/command-result.ts';
import { haltEvent } from '../../../contract/halt-answers.ts';
import { updateRecord, watermarkRecord } from '../../../contract/update-record.ts';
import type { Route } from '../route.ts';
import { componentSchemas, schemaId } from './component-schemas.ts';
import { docsPage, docsPagePolicy } from './docs-page.ts';
import { examplesOf } from './examples/find-examples.ts';
import { openapiDocument } from './openapi-document.ts';

const root = '#/components/schemas/';

interface Channel {
  readonly id: string;
  readonly server: 'kafka' | 'rest';
  readonly address: string;
  readonly description: string;
  readonly messages: readonly { readonly name: string; readonly description: string; readonly shape: z.ZodType }[];
}

const channels: readonly Channel[] = [
  {
    id: 'orderUpdates',
    server: 'kafka',
    address: 'tidemark.order-updates.v1',
    description:
      'Every accepted change of every order. Key `<stream>:<orderId>`; keep the highest `(generation, revision)` of each key, and drop what is not above it.',
    messages: [{ name: 'OrderUpdate', description: 'One accepted change', shape: updateRecord }],
  },
  {
    id: 'orderState',
    server: 'kafka',
    address: 'tidemark.order-state.v1',
    description: 'The newest update of each order, compacted. Key `<stream>:<orderId>`; read it `read_committed`.',
    messages: [{ name: 'OrderState', description: 'The newest change', shape: updateRecord }],
  },
  {
    id: 'watermarks',
    server: 'kafka',
    address: 'tidemark.watermarks.v1',
    description: 'What is known of the sources: live, lost, resynchronised, and how far the updates are complete.',
    messages: [{ name: 'Watermark', description: 'A statement about accounts on one stream', shape: watermarkRecord }],
  },
  {
    id: 'commandResults',
    server: 'kafka',
    address: 'tidemark.command-results.v1',
    description: 'Each step of each command. Key is the command id; keep the highest (generation, version).',
    messages: [{ name: 'CommandResult', description: 'A step of a command', shape: commandResultRecord }],
  },
  {
    id: 'stream',
    server: 'rest',
    address: '/v1/stream',
    description:
      'Server-sent events of REST: `event: update` with the same record, and with `events=` also `result` and `halt`. Resumable by its id.',
    messages: [
      { name: 'StreamedUpdate', description: 'One accepted change', shape: updateRecord },
      { name: 'StreamedResult', description: 'A step of a command', shape: commandResultRecord },
      { name: 'StreamedHalt', description: 'A change of a halt', shape: haltEvent },
    ],
  },
];

/** Both addresses are the operator's: these are the defaults for a machine that runs everything. */
const servers = {
  kafka: { host: 'localhost:9092', protocol: 'kafka', description: 'The brokers of KAFKA_BROKERS' },
  rest: { host: 'localhost:8080', protocol: 'http', description: 'The port of REST' },
};

/**
 * The topics and the stream of updates as AsyncAPI 3. Topic names are the defaults: the operator
 * chooses the prefix.
 */
function asyncapiDocument(version: string): object {
  const shapes = channels.flatMap(({ messages }) => messages.map(({ shape }) => shape));
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Tidemark',
      version,
      description: 'What Tidemark publishes. Decimals and int64 are strings.',
      license: { name: 'Apache License 2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
      tags: [
        { name: 'orders', description: 'Changes and states of orders' },
        { name: 'commands', description: 'Steps of commands' },
        { name: 'watermarks', description: 'How far the updates are complete' },
      ],
    },
    servers,
    defaultContentType: 'application/json',
    channels: Object.fromEntries(channels.map((channel) => [channel.id, channelOf(channel)])),
    operations: Object.fromEntries(
      channels.map(({ id, description, messages }) => [
        `send${id.charAt(0).toUpperCase()}${id.slice(1)}`,
        {
          action: 'send',
          description,
          channel: { $ref: `#/channels/${id}` },
          messages: messages.map(({ name }) => ({ $ref: `#/channels/${id}/messages/${name}` })),
        },
      ]),
    ),
    components: { schemas: componentSchemas(shapes, root) },
  };
}

function channelOf({ address, server, description, messages }: Channel): object {
  return {
    address,
    description,
    servers: [{ $ref: `#/servers/${server}` }],
    messages: Object.fromEntries(
      messages.map(({ name, description: summary, shape }) => [
        name,
        {
          name,
          title: name,
          summary,
          contentType: 'application/json',
          payload: { $ref: `${root}${schemaId(shape) ?? ''}` },
          examples: examplesOf(shape).map((each) => ({ name: each.name, payload: each.value })),
        },
      ]),
    ),
  };
}

/**
 * All documents about the API, from the table of routes and the schemas in use, so they can't
 * become outdated. Each is made when it is first asked for: 30 to 60 ms, once. All of them took
 * 0.1 s of each start.
 */
export class MadeDocuments {
  /** The docs page's Content-Security-Policy. */
  readonly pagePolicy = docsPagePolicy;
  private readonly made: { openapi?: string; asyncapi?: string; page?: string } = {};
  private readonly routes: readonly Route[];
  private readonly version: string;

  constructor(routes: readonly Route[], version: string) {
    this.routes = routes;
    this.version = version;
  }

  get openapi(): string {
    this.made.openapi ??= JSON.stringify(openapiDocument(this.routes, this.version));
    return this.made.openapi;
  }

  get asyncapi(): string {
    this.made.asyncapi ??= JSON.stringify(asyncapiDocument(this.version));
    return this.made.asyncapi;
  }

  get page(): string {
    this.made.page ??= docsPage(openapiDocument(this.routes, this.version));
    return this.made.page;
  }
}
