-- A complete read that missed an unknown command is evidence and a count, no step: it moves no version, and tells no event. A build that makes steps of them still
-- may, and finds the count in the same column.
CREATE OR REPLACE FUNCTION public.commands_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.version <> 1 OR NEW.state NOT IN ('open', 'refused') OR NOT NEW.key_held THEN
      RAISE EXCEPTION 'a command begins open or refused, at version 1, with its key' USING ERRCODE = 'TM010';
    END IF;
    RETURN NEW;
  END IF;
  IF (OLD.command_id, OLD.lane, OLD.principal, OLD.idempotency_key, OLD.request_hash, OLD.kind, OLD.stream, OLD.account_id, OLD.symbol, OLD.side,
      OLD.request::text, OLD.caller_ref, OLD.supersedes, OLD.baseline::text, OLD.deadline_at, OLD.created_at)
    IS DISTINCT FROM
     (NEW.command_id, NEW.lane, NEW.principal, NEW.idempotency_key, NEW.request_hash, NEW.kind, NEW.stream, NEW.account_id, NEW.symbol, NEW.side,
      NEW.request::text, NEW.caller_ref, NEW.supersedes, NEW.baseline::text, NEW.deadline_at, NEW.created_at)
  THEN
    RAISE EXCEPTION 'what command % asks for never changes', OLD.command_id USING ERRCODE = 'TM010';
  END IF;
  IF NEW.order_id IS DISTINCT FROM OLD.order_id AND OLD.order_id IS NOT NULL THEN
    RAISE EXCEPTION 'command % is about order %, and stays so', OLD.command_id, OLD.order_id USING ERRCODE = 'TM010';
  END IF;
  IF NEW.key_held <> OLD.key_held THEN
    IF NEW.key_held OR NEW.settled_at IS NULL THEN
      RAISE EXCEPTION 'the key of command % is given up once, when it is final', OLD.command_id USING ERRCODE = 'TM010';
    END IF;
    IF NEW.version = OLD.version AND NEW.state = OLD.state THEN
      RETURN NEW;
    END IF;
  END IF;
  -- One more read that missed an unknown command is counted beside its steps: nothing else may change with it.
  IF NEW.version = OLD.version AND NEW.misses = OLD.misses + 1 AND OLD.state = 'unknown' AND
    (NEW.state, NEW.order_id, NEW.reason::text, NEW.presumed_absent, NEW.pending_revision, NEW.pending_version, NEW.updated_at, NEW.settled_at)
    IS NOT DISTINCT FROM
    (OLD.state, OLD.order_id, OLD.reason::text, OLD.presumed_absent, OLD.pending_revision, OLD.pending_version, OLD.updated_at, OLD.settled_at)
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
    WHEN 'refused' THEN '{refused,moot,applied}'
    WHEN 'not_sent' THEN '{not_sent,applied}'
    WHEN 'rejected' THEN '{rejected,applied}'
    WHEN 'moot' THEN '{moot,applied}'
    WHEN 'applied' THEN '{applied}'
  END) THEN
    RAISE EXCEPTION 'command % may not go from % to %', OLD.command_id, OLD.state, NEW.state USING ERRCODE = 'TM010';
  END IF;
  RETURN NEW;
END
$$;
--> statement-breakpoint
-- Under the fence, and only while the command is unknown at the version that the read was judged by. Returns as `step_command` does.
CREATE FUNCTION public.note_miss(p_lane integer, p_epoch bigint, p json) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v public.commands;
  v_id uuid := p ->> 'commandId';
BEGIN
  IF NOT public.hold_command_fence(p_lane, p_epoch) THEN
    RETURN json_build_object('kind', 'fenced');
  END IF;
  SELECT * INTO v FROM public.commands WHERE command_id = v_id AND lane = p_lane FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'there is no command %', v_id USING ERRCODE = 'TM012';
  END IF;
  IF v.version <> (p ->> 'version')::integer OR v.state <> 'unknown' THEN
    RETURN json_build_object('kind', 'stale', 'command', public.command_json(v));
  END IF;
  UPDATE public.commands SET misses = misses + 1 WHERE command_id = v_id RETURNING * INTO v;
  PERFORM public.append_evidence(v_id, json_build_array(p -> 'evidence'));
  RETURN json_build_object('kind', 'noted', 'command', public.command_json(v));
END
$$;
--> statement-breakpoint
REVOKE ALL ON FUNCTION public.note_miss FROM PUBLIC;
GRANT EXECUTE ON FUNCTION public.note_miss TO tidemark_app;
