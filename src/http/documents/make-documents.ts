import type { Documents, Route } from '../route.ts';
import { asyncapiDocument } from './asyncapi-document.ts';
import { docsPage, docsPagePolicy } from './docs-page.ts';
import { openapiDocument } from './openapi-document.ts';

/** Everything that we say of ourselves, made of the table of routes and the schemas that the code uses: it can't fall behind. */
export function makeDocuments(routes: readonly Route[], version: string): Documents {
  const openapi = openapiDocument(routes, version);
  return {
    openapi: JSON.stringify(openapi),
    asyncapi: JSON.stringify(asyncapiDocument(version)),
    page: docsPage(openapi),
    pagePolicy: docsPagePolicy,
  };
}
