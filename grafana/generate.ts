/**
 * `npm run dashboards`: writes the dashboards and rules from their descriptions in grafana/source/
 * and the runbooks in docs/runbooks/. What is written is committed, since Grafana and Prometheus
 * read it as it is; a test says when it is stale.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { generatedFiles } from './source/generated-files.ts';

for (const [file, text] of generatedFiles((runbook) => readFileSync(runbook, 'utf8'))) writeFileSync(file, text);
