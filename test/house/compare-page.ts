import { readFileSync } from 'node:fs';
import type { FilesRun } from './measure-ways.ts';

/**
 * What the page names and the measured run can't have, by file or folder: in the simulated world
 * and behind the rig of commands, ports have a version in memory.
 */
const notInRuns: Readonly<Record<string, string>> = {
  'contract/': 'shapes of REST, and the rig begins behind it',
  'domain/above-baseline.ts': 'for a replace',
  'domain/account-join.ts': 'for an account order, and the one that changes is a prediction order',
  'domain/canonical-terms.ts': 'for a key that is known already',
  'domain/join-account.ts': 'for an account order',
  'domain/observation.ts': 'types',
  'service/commands/commands.ts': 'types',
  'service/commands/preview-place.ts': 'for a preview',
  'service/log/log-publisher.ts': 'the broker is in memory',
  'service/log/outcome-relay.ts': 'the rig has no broker',
  'service/log/publish-sends.ts': 'the broker is in memory',
  'service/log/transactional-publisher.ts': 'the broker is in memory',
  'service/orders/flight.ts': 'types',
  'service/orders/load-known.ts': 'the rig gives its batches by hand',
  'service/rest/': 'the rig begins behind REST',
  'service/run/': 'world and rig assemble the parts themselves',
  'service/sources/account-looks.ts': 'the update comes before a look is due',
  'service/sources/ws-socket.ts': 'the platform is in memory',
  'store/': 'the database is in memory',
  'venue/platform/judge-write.ts': 'the answers are scripted',
  'venue/platform/order-writes.ts': 'the answers are scripted',
  'venue/platform/socket-write-lines.ts': 'the answers are scripted',
  'venue/platform/token-source.ts': 'the answers are scripted',
  'venue/platform/write-platform.ts': 'the answers are scripted',
};

/** Values, time and waits: every room uses them, so a step need not name them. */
const ground = /^(?:runtime\/|domain\/(?:command|decimal|instant|order|partition|symbol)\.ts$)/;

interface Differences {
  /** Files that ran and that the section does not name: a fault of the page. */
  readonly unnamed: readonly string[];
  /** Files that it names, and that did not run without a reason. */
  readonly notRun: readonly string[];
}

/** How a section of docs/architecture.md differs from the files that ran. */
export function comparePage(heading: string, ran: FilesRun): Differences {
  const page = readFileSync('docs/architecture.md', 'utf8');
  const section = page.split(/^## /m).find((part) => part.startsWith(heading)) ?? '';
  const named = new Set([...section.matchAll(/`([\w/-]+\.ts)`/g)].map(([, file]) => file ?? ''));
  const hasReason = (file: string) => Object.keys(notInRuns).some((each) => file.startsWith(each));
  return {
    unnamed: [...ran.keys()].filter((file) => !named.has(file) && !ground.test(file)).sort(),
    notRun: [...named].filter((file) => !ran.has(file) && !hasReason(file)).sort(),
  };
}
