// "Break it" as its page and the demo know it.

/** The faults with a button on the page. */
export const faultNames = [
  'duplicate',
  'reorder',
  'drop',
  'silent_loss',
  'cut',
  'half_open',
  'landed',
  'not_landed',
  'late_landing',
  'lost_store',
] as const;

export type FaultName = (typeof faultNames)[number];

export interface IncidentLine {
  /** Since the button was pressed. */
  readonly afterMs: number;
  readonly kind: 'action' | 'harm' | 'doubt' | 'doubt_gone' | 'evidence' | 'wait' | 'end';
  readonly text: string;
  /** The order it is about. */
  readonly order?: { readonly stream: string; readonly orderId: string };
}

/** One press of a button, and everything that followed. */
export interface IncidentDocument {
  readonly id: number;
  readonly fault: FaultName;
  /** ISO 8601. */
  readonly at: string;
  /** `waits`: only a person can resolve it. `stuck`: it did not heal in time. */
  readonly state: 'under_way' | 'waits' | 'healed' | 'stuck';
  readonly endedAfterMs?: number;
  readonly lines: readonly IncidentLine[];
  /** Order changes that met the fault, and how many the service has by now. */
  readonly harmed: number;
  readonly recovered: number;
  readonly commandId?: string;
}

export interface ProofFigures {
  readonly tookMs: number;
  readonly observations: number;
  readonly updates: number;
  /**
   * The part of `updates` read from lists or single orders, or shown by a write's answer. They need
   * no event: the first list has every order once.
   */
  readonly byReads: number;
  /** Absent without Kafka. */
  readonly consumed?: number;
  readonly orders: number;
  readonly lost: number;
  readonly doubled: number;
  readonly outOfOrder: number;
  readonly repeats: number;
  readonly commands: Readonly<Record<string, number>>;
  /** Sentences, the first few. */
  readonly faults: readonly string[];
}

/** How far a proof is. */
export type ProofStep = 'quiet' | 'arriving' | 'comparing';

export type ProofDocument =
  | { readonly state: 'none' }
  | { readonly state: 'running'; readonly step: ProofStep }
  | { readonly state: 'done'; readonly at: string; readonly holds: boolean; readonly figures: ProofFigures }
  | { readonly state: 'failed'; readonly why: string };

export interface DemoDocument {
  /** This demo's sandbox can make these. */
  readonly faults: readonly FaultName[];
  /** Newest first. */
  readonly incidents: readonly IncidentDocument[];
  readonly proof: ProofDocument;
}
