/**
 * Names that no principal may have, in any case of letters: `loopback` is every caller where there
 * is no sign-in, and as `tidemark` the service writes down what it does itself. A person by that
 * name could halt, and the halt would look like the service's own.
 */
export function isReservedName(name: string): boolean {
  return /^(?:loopback|tidemark)$/i.test(name);
}
