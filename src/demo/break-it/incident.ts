import type { Clock } from '../../runtime/clock.ts';
import type { FaultName, IncidentDocument, IncidentLine } from './shapes.ts';

/** More would bury the story; the counts go on. */
const mostLines = 60;

/**
 * One button press: a growing list of lines. States: under_way → healed, or waits → healed, or
 * stuck. An ended incident takes no more lines.
 */
export class Incident {
  harmed = 0;
  recovered = 0;
  commandId: string | undefined;
  readonly id: number;
  readonly fault: FaultName;
  private readonly clock: Clock;
  private readonly beganMs: number;
  private readonly at: string;
  private readonly lines: IncidentLine[] = [];
  private state: IncidentDocument['state'] = 'under_way';
  private endedAfterMs: number | undefined;

  constructor(clock: Clock, id: number, fault: FaultName) {
    this.clock = clock;
    this.id = id;
    this.fault = fault;
    this.beganMs = clock.monotonicMs();
    this.at = new Date(clock.nowMs()).toISOString();
  }

  /** Neither healed nor stuck: something may still be learnt. */
  get open(): boolean {
    return this.endedAfterMs === undefined;
  }

  get underWay(): boolean {
    return this.state === 'under_way';
  }

  get ageMs(): number {
    return Math.round(this.clock.monotonicMs() - this.beganMs);
  }

  add(kind: IncidentLine['kind'], text: string, order?: IncidentLine['order']): void {
    if (!this.open || (this.lines.length >= mostLines && kind !== 'end')) return;
    this.lines.push({ afterMs: this.ageMs, kind, text, ...(order !== undefined && { order }) });
  }

  /** From here on a person has to act; the incident stays open. */
  wait(text: string): void {
    this.add('wait', text);
    this.state = 'waits';
  }

  end(state: 'healed' | 'stuck', text: string): void {
    if (!this.open) return;
    this.add('end', text);
    this.state = state;
    this.endedAfterMs = this.ageMs;
  }

  document(): IncidentDocument {
    const { id, fault, at, state, lines, harmed, recovered, endedAfterMs, commandId } = this;
    return {
      ...{ id, fault, at, state, lines: [...lines], harmed, recovered },
      ...(endedAfterMs !== undefined && { endedAfterMs }),
      ...(commandId !== undefined && { commandId }),
    };
  }
}
