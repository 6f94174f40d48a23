/** The key that the symbol search needs beside the bearer token (specification, "Authentication", 2). Fixed, like everything secret in a sandbox. */
export const apiKey = 'sandbox-api-key';
