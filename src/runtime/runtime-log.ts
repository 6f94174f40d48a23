/** What the ground needs of a logger; the log of `observability/` fits it. */
export interface RuntimeLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
