/** The options of `tidemark demo`, parsed. */
export interface DemoFlags {
  /** Absent: until it is interrupted. */
  readonly seconds?: number;
  /** Order changes a second. */
  readonly rate: number;
  readonly seed: number;
  readonly json?: true;
}
