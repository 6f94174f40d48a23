-- ----- Principals and the audit trail -----

-- Static tokens of REST. A principal is a name: its idempotency keys and references outlive each of its tokens.
CREATE TABLE public.principal_tokens (
  principal text NOT NULL,
  number integer NOT NULL,
  token_sha256 bytea NOT NULL,
  scopes text[] NOT NULL,
  accounts text[],
  created_at timestamptz DEFAULT now() NOT NULL,
  expires_at timestamptz,
  CONSTRAINT principal_tokens_principal_number_pk PRIMARY KEY (principal, number),
  CONSTRAINT principal_tokens_sha256 CHECK (octet_length(principal_tokens.token_sha256) = 32),
  CONSTRAINT principal_tokens_number CHECK (principal_tokens.number > 0)
);

CREATE UNIQUE INDEX principal_tokens_hash ON public.principal_tokens (token_sha256);

-- Ends a token again, where the database has lost the end that a process has read: never later than it ends now. Runs as its owner, since the service may neither make nor
-- change tokens otherwise.
CREATE FUNCTION public.end_token_again(p_principal text, p_number integer, p_ends_ms double precision) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  -- The row first: `sending` is never held while a row is waited for.
  PERFORM FROM public.principal_tokens WHERE principal = p_principal AND number = p_number FOR UPDATE;
  PERFORM public.close_sending();
  UPDATE public.principal_tokens SET expires_at = public.ms_to_time(p_ends_ms)
  WHERE principal = p_principal AND number = p_number AND (expires_at IS NULL OR expires_at > public.ms_to_time(p_ends_ms));
END
$$;

CREATE TABLE public.audit_log (
  id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  at timestamptz NOT NULL,
  principal text NOT NULL,
  action text NOT NULL,
  account_id text,
  command_id text,
  request_id text,
  reason text,
  detail json,
  recorded_at timestamptz DEFAULT now() NOT NULL
);

CREATE INDEX audit_log_at ON public.audit_log (at);
