-- ----- Changes that no row allows -----

-- A row of the journal is never changed, but that a key is given up once: a trigger of changes alone, which no insert meets.
CREATE FUNCTION public.journal_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF OLD.key_held AND NOT NEW.key_held AND (SELECT resolved_at FROM public.journal WHERE command_id = OLD.command_id ORDER BY number DESC LIMIT 1) IS NOT NULL THEN
    OLD.key_held := false;
    IF OLD IS NOT DISTINCT FROM NEW THEN
      RETURN NEW;
    END IF;
  END IF;
  RAISE EXCEPTION 'a row of the journal never changes, but that the key of a final command is given up once' USING ERRCODE = 'TM010';
END
$$;

CREATE TRIGGER journal_guard BEFORE UPDATE ON public.journal FOR EACH ROW EXECUTE FUNCTION public.journal_guard();

CREATE FUNCTION public.halts_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF OLD.cleared_at IS NOT NULL OR (OLD.halt_id, OLD.account_id, OLD.cause, OLD.reason, OLD.raised_by, OLD.since) IS DISTINCT FROM
     (NEW.halt_id, NEW.account_id, NEW.cause, NEW.reason, NEW.raised_by, NEW.since) THEN
    RAISE EXCEPTION 'halt % is cleared once, and never changed otherwise', OLD.halt_id USING ERRCODE = 'TM010';
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER halts_guard BEFORE UPDATE ON public.halts FOR EACH ROW EXECUTE FUNCTION public.halts_guard();

CREATE FUNCTION public.cancel_alls_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NEW.key_held AND NOT OLD.key_held OR OLD.ended_at IS NOT NULL AND OLD.ended_at IS DISTINCT FROM NEW.ended_at OR
    (OLD.key_held, OLD.ended_at) IS NOT DISTINCT FROM (NEW.key_held, NEW.ended_at) OR
    (OLD.cancel_all_id, OLD.shard, OLD.principal, OLD.idempotency_key, OLD.request_hash, OLD.selection::text, OLD.reason, OLD.on_landing, OLD.orders::text,
      OLD.places::text, OLD.unread::text, OLD.declined::text, OLD.created_at)
    IS DISTINCT FROM
    (NEW.cancel_all_id, NEW.shard, NEW.principal, NEW.idempotency_key, NEW.request_hash, NEW.selection::text, NEW.reason, NEW.on_landing, NEW.orders::text,
      NEW.places::text, NEW.unread::text, NEW.declined::text, NEW.created_at)
  THEN
    RAISE EXCEPTION 'cancel-all % ends once and gives up its key once, and never changes otherwise', OLD.cancel_all_id USING ERRCODE = 'TM010';
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER cancel_alls_guard BEFORE UPDATE ON public.cancel_alls FOR EACH ROW EXECUTE FUNCTION public.cancel_alls_guard();

-- Triggers of statements, so that they add no cost to the writes of rows.
CREATE FUNCTION public.principal_tokens_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND (
    (OLD.principal, OLD.number, OLD.token_sha256, OLD.scopes, OLD.accounts, OLD.created_at)
      IS DISTINCT FROM (NEW.principal, NEW.number, NEW.token_sha256, NEW.scopes, NEW.accounts, NEW.created_at)
    OR NEW.expires_at IS NULL OR NEW.expires_at >= OLD.expires_at OR OLD.expires_at <= now())
  THEN
    RAISE EXCEPTION 'token % of % may only be ended earlier', OLD.number, OLD.principal USING ERRCODE = 'TM010';
  END IF;
  -- In a trigger and not in the program, so that a token made by hand is recorded too. Its maker is the database login: REST cannot make tokens.
  INSERT INTO public.audit_log (at, principal, action, detail)
  VALUES (clock_timestamp(), 'database:' || session_user, CASE TG_OP WHEN 'INSERT' THEN 'token_add' ELSE 'token_end' END,
    json_build_object('principal', NEW.principal, 'number', NEW.number, 'scopes', NEW.scopes, 'accounts', NEW.accounts, 'expiresAt', NEW.expires_at));
  RETURN NEW;
END
$$;

CREATE TRIGGER principal_tokens_guard BEFORE INSERT OR UPDATE ON public.principal_tokens FOR EACH ROW EXECUTE FUNCTION public.principal_tokens_guard();

CREATE FUNCTION public.refuse_loss() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION '% of % is not allowed: it only grows', TG_OP, TG_TABLE_NAME USING ERRCODE = 'TM010';
END
$$;

CREATE TRIGGER facts_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON public.facts FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();
CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON public.audit_log FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();
CREATE TRIGGER journal_stays BEFORE DELETE OR TRUNCATE ON public.journal FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();
CREATE TRIGGER halts_stay BEFORE DELETE OR TRUNCATE ON public.halts FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();
CREATE TRIGGER order_bindings_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON public.order_bindings FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();
CREATE TRIGGER principal_tokens_stay BEFORE DELETE OR TRUNCATE ON public.principal_tokens FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();
CREATE TRIGGER approvals_stay BEFORE DELETE OR TRUNCATE ON public.approvals FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();
CREATE TRIGGER cancel_alls_stay BEFORE DELETE OR TRUNCATE ON public.cancel_alls FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();
