/**
 * What becomes of events and connections of the platform, as probabilities: of an event and
 * follower, a subscription, an upgrade.
 */
export interface StreamFaults {
  readonly duplicate: number;
  /** Sent late, behind what came after it. */
  readonly delay: number;
  /** Never sent, on a connection that goes on. */
  readonly silentLoss: number;
  /** Lost with everything that follows: the connection ends soon after. */
  readonly cut: number;
  readonly halfOpen: number;
  /** Something else is sent in its place. */
  readonly garbage: number;
  /** An event of an account that was not asked for goes before it. */
  readonly foreign: number;
  readonly ackLate: number;
  readonly ackNever: number;
  readonly upgradeRefused: number;
  readonly upgradeHangs: number;
}

/** What becomes of requests, as probabilities. */
export interface ReadFaults {
  /** 503. */
  readonly refused: number;
  /** No answer, or half of one. */
  readonly broken: number;
  /** 200 with a page of HTML. */
  readonly foreignBody: number;
  readonly slow: number;
  /** Lists and orders show the state of up to this long ago. */
  readonly lagMs: number;
}

export const noStreamFaults: StreamFaults = {
  duplicate: 0,
  delay: 0,
  silentLoss: 0,
  cut: 0,
  halfOpen: 0,
  garbage: 0,
  foreign: 0,
  ackLate: 0,
  ackNever: 0,
  upgradeRefused: 0,
  upgradeHangs: 0,
};

export const noReadFaults: ReadFaults = { refused: 0, broken: 0, foreignBody: 0, slow: 0, lagMs: 0 };
