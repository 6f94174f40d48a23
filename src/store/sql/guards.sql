-- ----- Changes that no row allows -----

-- A command begins open or refused, its request never changes, and its states follow the table of domain/command-machine.ts (a test compares them cell by cell).
-- A complete read that missed an unknown command is evidence and a count, not a step: it changes no version and makes no event.
CREATE FUNCTION public.commands_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.version <> 1 OR NEW.state NOT IN ('open', 'refused') OR NOT NEW.key_held THEN
      RAISE EXCEPTION 'a command begins open or refused, at version 1, with its key' USING ERRCODE = 'TM010';
    END IF;
    IF NEW.supersedes IS NOT NULL AND NEW.kind = 'place' THEN
      -- If two want to supersede the same place at once, the second waits here and then sees the result of the first.
      PERFORM FROM public.commands WHERE command_id = NEW.supersedes FOR NO KEY UPDATE;
      IF public.is_superseded(NEW.supersedes) THEN
        RAISE EXCEPTION 'command % is superseded already', NEW.supersedes USING ERRCODE = 'TM010';
      END IF;
    END IF;
    RETURN NEW;
  END IF;
  IF (OLD.command_id, OLD.shard, OLD.principal, OLD.idempotency_key, OLD.request_hash, OLD.kind, OLD.stream, OLD.account_id, OLD.symbol, OLD.side,
      OLD.request::text, OLD.caller_ref, OLD.supersedes, OLD.baseline::text, OLD.exposure, OLD.deadline_at, OLD.created_at)
    IS DISTINCT FROM
     (NEW.command_id, NEW.shard, NEW.principal, NEW.idempotency_key, NEW.request_hash, NEW.kind, NEW.stream, NEW.account_id, NEW.symbol, NEW.side,
      NEW.request::text, NEW.caller_ref, NEW.supersedes, NEW.baseline::text, NEW.exposure, NEW.deadline_at, NEW.created_at)
  THEN
    RAISE EXCEPTION 'what command % asks for never changes', OLD.command_id USING ERRCODE = 'TM010';
  END IF;
  IF NEW.order_id IS DISTINCT FROM OLD.order_id AND OLD.order_id IS NOT NULL THEN
    RAISE EXCEPTION 'command % is about order %, and stays so', OLD.command_id, OLD.order_id USING ERRCODE = 'TM010';
  END IF;
  IF NEW.key_held <> OLD.key_held THEN
    IF NEW.key_held OR NEW.resolved_at IS NULL THEN
      RAISE EXCEPTION 'the key of command % is given up once, when it is final', OLD.command_id USING ERRCODE = 'TM010';
    END IF;
    IF NEW.version = OLD.version AND NEW.state = OLD.state THEN
      RETURN NEW;
    END IF;
  END IF;
  -- One more read that missed an unknown command is counted beside its steps: nothing else may change with it.
  IF NEW.version = OLD.version AND NEW.misses = OLD.misses + 1 AND OLD.state = 'unknown' AND
    (NEW.state, NEW.order_id, NEW.reason::text, NEW.presumed_absent, NEW.pending_revision, NEW.pending_version, NEW.updated_at, NEW.resolved_at)
    IS NOT DISTINCT FROM
    (OLD.state, OLD.order_id, OLD.reason::text, OLD.presumed_absent, OLD.pending_revision, OLD.pending_version, OLD.updated_at, OLD.resolved_at)
  THEN
    RETURN NEW;
  END IF;
  IF NEW.version <> OLD.version + 1 THEN
    RAISE EXCEPTION 'command % steps from version % to %', OLD.command_id, OLD.version, NEW.version USING ERRCODE = 'TM010';
  END IF;
  IF NOT NEW.state = ANY (CASE OLD.state
    WHEN 'open' THEN '{open,refused,not_sent,accepted,unknown,applied,rejected,moot,conflict}'::text[]
    WHEN 'unknown' THEN '{unknown,refused,not_sent,accepted,applied,rejected,moot,conflict}'
    WHEN 'accepted' THEN '{accepted,not_sent,applied,rejected,moot,conflict}'
    WHEN 'conflict' THEN '{conflict,not_sent,applied,rejected,moot}'
    WHEN 'refused' THEN '{refused,moot,accepted,applied,rejected}'
    WHEN 'not_sent' THEN '{not_sent,accepted,applied,rejected}'
    WHEN 'rejected' THEN '{rejected,accepted,applied}'
    WHEN 'moot' THEN '{moot,accepted,applied,rejected}'
    WHEN 'applied' THEN '{applied}'
  END) THEN
    RAISE EXCEPTION 'command % may not go from % to %', OLD.command_id, OLD.state, NEW.state USING ERRCODE = 'TM010';
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER commands_guard BEFORE INSERT OR UPDATE ON public.commands FOR EACH ROW EXECUTE FUNCTION public.commands_guard();

-- It begins prepared, or the first one as sending; prepared → sending once and never back; a final state is final; a further attempt comes only after one that placed nothing.
CREATE FUNCTION public.attempts_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.answered_at IS NOT NULL OR (NEW.state = 'sending') <> (NEW.sending_at IS NOT NULL) OR
      NOT (NEW.state = 'prepared' OR NEW.state = 'sending' AND NEW.number = 1) THEN
      RAISE EXCEPTION 'attempt % begins prepared, or the first one as sending', NEW.attempt_id USING ERRCODE = 'TM010';
    END IF;
    IF NEW.number <> (SELECT coalesce(max(number), 0) + 1 FROM public.attempts WHERE command_id = NEW.command_id) THEN
      RAISE EXCEPTION 'attempt % leaves a hole at number %', NEW.attempt_id, NEW.number USING ERRCODE = 'TM010';
    END IF;
    RETURN NEW;
  END IF;
  IF (OLD.attempt_id, OLD.command_id, OLD.number, OLD.epoch, OLD.prepared_at) IS DISTINCT FROM
     (NEW.attempt_id, NEW.command_id, NEW.number, NEW.epoch, NEW.prepared_at) THEN
    RAISE EXCEPTION 'what attempt % is never changes', OLD.attempt_id USING ERRCODE = 'TM010';
  END IF;
  IF NOT NEW.state = ANY (CASE OLD.state
    WHEN 'prepared' THEN '{sending,not_sent}'::text[]
    WHEN 'sending' THEN '{not_sent,refused,rejected,accepted,unknown}'
    WHEN 'unknown' THEN '{unknown,not_sent,refused,rejected,accepted}'
    ELSE ARRAY[OLD.state]
  END) THEN
    RAISE EXCEPTION 'attempt % may not go from % to %', OLD.attempt_id, OLD.state, NEW.state USING ERRCODE = 'TM010';
  END IF;
  IF (NEW.sending_at IS DISTINCT FROM OLD.sending_at) <> (NEW.state = 'sending') THEN
    RAISE EXCEPTION 'attempt % says when it was sent once, with the step to sending', OLD.attempt_id USING ERRCODE = 'TM010';
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER attempts_guard BEFORE INSERT OR UPDATE ON public.attempts FOR EACH ROW EXECUTE FUNCTION public.attempts_guard();

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

-- An event may be deleted only once it was published.
CREATE FUNCTION public.command_events_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT FROM public.command_outbox WHERE id = OLD.id) THEN
    RAISE EXCEPTION 'event % was not published yet', OLD.id USING ERRCODE = 'TM010';
  END IF;
  RETURN OLD;
END
$$;

CREATE TRIGGER command_events_guard BEFORE DELETE ON public.command_events FOR EACH ROW EXECUTE FUNCTION public.command_events_guard();

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

CREATE TRIGGER evidence_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON public.evidence FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();
CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON public.audit_log FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();
CREATE TRIGGER commands_stay BEFORE DELETE OR TRUNCATE ON public.commands FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();
CREATE TRIGGER attempts_stay BEFORE DELETE OR TRUNCATE ON public.attempts FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();
CREATE TRIGGER halts_stay BEFORE DELETE OR TRUNCATE ON public.halts FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();
CREATE TRIGGER order_bindings_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON public.order_bindings FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();
CREATE TRIGGER command_events_written_once BEFORE UPDATE OR TRUNCATE ON public.command_events FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();
CREATE TRIGGER command_outbox_written_once BEFORE UPDATE OR TRUNCATE ON public.command_outbox FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();
CREATE TRIGGER principal_tokens_stay BEFORE DELETE OR TRUNCATE ON public.principal_tokens FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();
CREATE TRIGGER approvals_stay BEFORE DELETE OR TRUNCATE ON public.approvals FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();
CREATE TRIGGER cancel_alls_stay BEFORE DELETE OR TRUNCATE ON public.cancel_alls FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();
