-- A place that superseded another and came to nothing gives the release back: who named a presumed absent command could otherwise never place those terms again.
-- The rule was a unique index. It can't be one on states that change: of a successor that came to nothing an order may land after all, which has to be written
-- down whatever was placed since. So it is held where a command begins.
DROP INDEX "commands_superseded_once";--> statement-breakpoint
CREATE INDEX "commands_successors" ON "commands" USING btree ("supersedes") WHERE "commands"."supersedes" is not null;
--> statement-breakpoint
-- Whether a command took the place of this one. `not_sent` and `refused` are final, nothing of them is ever sent again; anything else was sent, or may be.
CREATE FUNCTION public.is_superseded(p_command_id uuid) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN EXISTS (SELECT FROM public.commands WHERE supersedes = p_command_id AND state NOT IN ('not_sent', 'refused'));
END
$$;
--> statement-breakpoint
-- As before, but for `is_superseded`.
CREATE OR REPLACE FUNCTION public.open_command(p_lane integer, p_epoch bigint, p json) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v public.commands;
  v_id uuid := p ->> 'commandId';
  v_at timestamptz := public.ms_to_time((p ->> 'atMs')::double precision);
  v_attempt text := p ->> 'attemptId';
  v_prior public.commands;
BEGIN
  IF NOT public.hold_command_fence(p_lane, p_epoch) THEN
    RETURN json_build_object('kind', 'fenced');
  END IF;
  LOOP
    -- Locked before the key is looked up, and looked at after: of two that want the same place, whoever waited here sees what the first one did.
    IF p ->> 'supersedes' IS NOT NULL THEN
      SELECT * INTO v_prior FROM public.commands WHERE command_id = (p ->> 'supersedes')::uuid FOR NO KEY UPDATE;
    END IF;

    SELECT * INTO v FROM public.commands WHERE principal = p ->> 'principal' AND idempotency_key = p ->> 'idempotencyKey' AND key_held;
    IF FOUND THEN
      -- A command that is not final keeps its key, however old: who asks again must hear of it.
      IF v.settled_at IS NULL OR v.created_at > v_at - interval '7 days' THEN
        IF v.request_hash = p ->> 'requestHash' THEN
          RETURN json_build_object('kind', 'replayed', 'command', public.command_json(v));
        END IF;
        RETURN json_build_object('kind', 'key_reused');
      END IF;
      UPDATE public.commands SET key_held = false WHERE command_id = v.command_id AND key_held;
    END IF;

    IF p ->> 'supersedes' IS NOT NULL AND (
      v_prior.state IS DISTINCT FROM 'unknown' OR NOT v_prior.presumed_absent OR v_prior.account_id <> p -> 'request' ->> 'accountId'
      OR public.is_superseded(v_prior.command_id)
    ) THEN
      RETURN json_build_object('kind', 'not_superseded');
    END IF;

    INSERT INTO public.commands (command_id, lane, principal, idempotency_key, request_hash, kind, stream, account_id, symbol, side, request, caller_ref,
      supersedes, state, version, order_id, reason, baseline, deadline_at, created_at, updated_at, settled_at)
    VALUES (v_id, p_lane, p ->> 'principal', p ->> 'idempotencyKey', p ->> 'requestHash', p -> 'request' ->> 'kind', p -> 'request' ->> 'stream',
      p -> 'request' ->> 'accountId', p -> 'request' -> 'terms' ->> 'symbol', p -> 'request' -> 'terms' ->> 'side', p -> 'request', p ->> 'callerRef',
      (p ->> 'supersedes')::uuid, CASE WHEN v_attempt IS NULL THEN 'refused' ELSE 'open' END, 1, coalesce(p ->> 'orderId', p -> 'request' ->> 'orderId'),
      p -> 'refusal', p -> 'baseline', public.ms_to_time((p ->> 'deadlineAtMs')::double precision), v_at, v_at, CASE WHEN v_attempt IS NULL THEN v_at END)
    ON CONFLICT (principal, idempotency_key) WHERE key_held DO NOTHING;
    EXIT WHEN FOUND;
  END LOOP;

  IF v_attempt IS NOT NULL THEN
    INSERT INTO public.attempts (attempt_id, command_id, number, state, epoch, prepared_at) VALUES (v_attempt, v_id, 1, 'prepared', p_epoch, v_at);
  END IF;
  PERFORM public.append_evidence(v_id, json_build_array(json_build_object('kind', 'note', 'code', CASE WHEN v_attempt IS NULL THEN 'refused' ELSE 'prepared' END,
    'detail', coalesce(p -> 'refusal', '{}'), 'attemptId', v_attempt, 'atMs', (p ->> 'atMs')::double precision)));
  RETURN json_build_object('kind', 'opened', 'command', public.tell_step(v_id));
END
$$;
--> statement-breakpoint
-- As before, and holds successors to the rule.
CREATE OR REPLACE FUNCTION public.commands_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.version <> 1 OR NEW.state NOT IN ('open', 'refused') OR NOT NEW.key_held THEN
      RAISE EXCEPTION 'a command begins open or refused, at version 1, with its key' USING ERRCODE = 'TM010';
    END IF;
    IF NEW.supersedes IS NOT NULL THEN
      -- Of two at once that want the same place, whoever waited here sees what the first one did.
      PERFORM FROM public.commands WHERE command_id = NEW.supersedes FOR NO KEY UPDATE;
      IF public.is_superseded(NEW.supersedes) THEN
        RAISE EXCEPTION 'command % is superseded already', NEW.supersedes USING ERRCODE = 'TM010';
      END IF;
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
REVOKE ALL ON FUNCTION public.is_superseded FROM PUBLIC;
GRANT EXECUTE ON FUNCTION public.is_superseded TO tidemark_app;
