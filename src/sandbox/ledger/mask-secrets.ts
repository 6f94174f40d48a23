const secretFields =
  /("?(?:client_secret|password|code_verifier|refresh_token|(?:verification_)?code|next_step_auth_id)"?\s*[:=]\s*"?)[^"&\s,}]+/g;

/** A request body without its secrets: the ledger is read by people and kept by tests, and a sandbox may be given real credentials by mistake. */
export function maskSecrets(text: string): string {
  return text.replace(secretFields, '$1[redacted]');
}
