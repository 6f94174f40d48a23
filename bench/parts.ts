import type { Measure } from './figure.ts';
import { measureCommands } from './measure-commands.ts';
import { measureConsole } from './measure-console.ts';
import { measureIdle } from './measure-idle.ts';
import { measureBareKafka } from './measure-kafka.ts';
import { measureLatency } from './measure-latency.ts';
import { measureNaive } from './measure-naive.ts';
import { measureProfile } from './measure-profile.ts';
import { measureRest } from './measure-rest.ts';
import { measureService } from './measure-service.ts';
import { measureStalls } from './measure-stalls.ts';
import { measureStart } from './measure-start.ts';
import { measureBareWrites, measureStatement } from './measure-statement.ts';
import { measureWatched } from './measure-watched.ts';

interface PartOf {
  readonly title: string;
  readonly measure: Measure;
  /**
   * Measured of another build too (`--vs`). The others are the ground on which both are measured,
   * or load code of this checkout into the service.
   */
  readonly ofEachBuild: boolean;
}

/** In the order in which they are measured. */
export const parts = {
  start: { title: 'start', measure: measureStart, ofEachBuild: true },
  write: { title: 'bare write path', measure: measureBareWrites, ofEachBuild: false },
  kafka: { title: 'bare kafkajs', measure: measureBareKafka, ofEachBuild: false },
  statement: { title: 'the statement of a batch, alone', measure: measureStatement, ofEachBuild: true },
  latency: { title: 'latency, socket to acknowledgement', measure: measureLatency, ofEachBuild: true },
  service: { title: 'the whole service', measure: measureService, ofEachBuild: true },
  naive: { title: 'the naive service', measure: measureNaive, ofEachBuild: false },
  commands: { title: 'commands', measure: measureCommands, ofEachBuild: true },
  watched: { title: 'the stream beside 1,000 watched commands', measure: measureWatched, ofEachBuild: true },
  rest: { title: 'reads by REST', measure: measureRest, ofEachBuild: true },
  console: { title: 'the blotter in a browser', measure: measureConsole, ofEachBuild: false },
  idle: { title: 'accounts at rest', measure: measureIdle, ofEachBuild: true },
  stalls: { title: 'what late updates waited for', measure: measureStalls, ofEachBuild: false },
  profile: { title: 'where the time of the service goes', measure: measureProfile, ofEachBuild: true },
} as const satisfies Record<string, PartOf>;

export type Part = keyof typeof parts;

export const partNames = Object.keys(parts) as readonly Part[];

/** Measured once more when the service is done: machines change their speed by the minute. */
export const groundParts: readonly Part[] = ['write', 'kafka'];
