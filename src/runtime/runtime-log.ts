/** The part of a logger that the lowest rooms need; the log of `observability/` fits it. */
export interface RuntimeLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
