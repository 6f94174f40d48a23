import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MadeDocuments } from '../../../src/service/rest/documents/asyncapi-document.ts';
import { routeTable } from '../../../src/service/rest/route-table.ts';

// Writes the documents of the interfaces to a folder, for the linters of `npm run check`: node
// test/support/runs/write-documents.ts FOLDER
const [, , folder = 'node_modules/.cache/documents'] = process.argv;
const { openapi, asyncapi } = new MadeDocuments(routeTable, '1.0.0');
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, 'openapi.json'), openapi);
writeFileSync(join(folder, 'asyncapi.json'), asyncapi);
