/** Our environment without what would configure the program besides the test. */
export function neutralEnv(): Record<string, string> {
  const own = /^(DATABASE_URL|KAFKA_|PLATFORM_|TIDEMARK_|NODE_OPTIONS|VITEST|NODE_ENV|HTTPS?_PROXY|NO_PROXY)/i;
  return Object.fromEntries(
    Object.entries(process.env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && !own.test(entry[0]),
    ),
  );
}
