-- ----- Principals and the audit trail -----

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
