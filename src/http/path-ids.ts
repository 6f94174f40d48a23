/** Grammars of the ids in paths. What does not fit names nothing that can exist, so it is not found. */
export const idKinds = {
  stream: /^(?:account|prediction)$/,
  /** What the platform's ids may be (the decoder of its orders refuses others). */
  orderId: /^[\x21-\x7e]{1,128}$/,
  accountId: /^[!-~]{1,50}$/,
  commandId: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  approvalId: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
} as const;
export type IdKind = keyof typeof idKinds;

/** The same for JSON Schema. */
export function idPattern(kind: IdKind): string {
  return idKinds[kind].source;
}
