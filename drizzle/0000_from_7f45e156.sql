-- From the 0000_baseline of commit 7f45e156 to the one of now, for 0001_written_once alone: functions that it makes anew anyway are left out (docs/decisions/074).
-- It is the first part of that migration, in its transaction. No row of the log or of the orders is touched.

UPDATE drizzle.__drizzle_migrations SET hash = 'eed115fe27f2e1bb49dac04531212ab087d38f216a4c222673015211a7234c5d';

ALTER TABLE public.lanes ADD COLUMN halts_held bigint DEFAULT 0 NOT NULL, ADD COLUMN report jsonb DEFAULT '{}' NOT NULL;

CREATE TABLE public.published_topics (
  kind text PRIMARY KEY,
  name text NOT NULL,
  topic_id text NOT NULL,
  since timestamptz DEFAULT now() NOT NULL
);

ALTER TABLE public.commands ADD COLUMN limits_change bigint DEFAULT 0 NOT NULL, ADD COLUMN token_number integer;

ALTER TABLE public.approvals RENAME COLUMN deed TO action;
ALTER TABLE public.limits ADD COLUMN change bigint GENERATED ALWAYS AS IDENTITY;
CREATE UNIQUE INDEX limits_change ON public.limits (change);
ALTER TABLE public.halts ADD COLUMN number bigint GENERATED ALWAYS AS IDENTITY;
CREATE UNIQUE INDEX halts_number ON public.halts (number);
ALTER TABLE public.cancel_timers ADD COLUMN changes integer DEFAULT 1 NOT NULL;

DROP FUNCTION public.limit_breach(text, text, text, text, boolean);
DROP FUNCTION public.change_limits(json);
DROP FUNCTION public.mark_sending(integer, bigint, text, double precision);
DROP FUNCTION public.set_cancel_timers(integer, bigint, json);
DROP FUNCTION public.clear_halts(integer, bigint, text, text, text, double precision, boolean);
DROP FUNCTION public.notice_loss(integer, json, text[], text[], integer[], bigint[], text[], json, text, text);

-- Bodies that name a function of 0001_written_once.
SET LOCAL check_function_bodies = off;

CREATE OR REPLACE FUNCTION public.limit_reading(p_limit text, p_bound text, p_broken boolean, p_value text, p_why text DEFAULT NULL, p_needs_quote boolean DEFAULT NULL) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN json_strip_nulls(json_build_object('limit', p_limit, 'bound', p_bound, 'broken', p_broken, 'value', p_value, 'why', p_why, 'needsQuote', p_needs_quote));
END
$$;

CREATE OR REPLACE FUNCTION public.canonical_symbol(p_symbol text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(upper(btrim(p_symbol)), '^(?:O:)?([A-Z0-9.]{1,6}) *([0-9]{6}[CP][0-9]{8})$', E'\\1\\2');

CREATE OR REPLACE FUNCTION public.symbol_letters(p_symbol text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(nullif(translate(public.canonical_symbol(p_symbol), ' !"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', ''), ''), public.canonical_symbol(p_symbol));

CREATE OR REPLACE FUNCTION public.judge_limits(p json) RETURNS json
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  SELECT (w::jsonb - 'broken')::json FROM public.weigh_limits(p, false) AS w LIMIT 1
$$;

CREATE OR REPLACE FUNCTION public.close_sending() RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  SELECT pg_advisory_xact_lock(hashtext('tidemark sending'), 0)
$$;

CREATE OR REPLACE FUNCTION public.change_limits(p json) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v public.limits;
  v_before jsonb := p -> 'before';
  v_bounds jsonb := p -> 'bounds';
  v_at timestamptz := public.ms_to_time((p ->> 'atMs')::double precision);
  v_line bigint;
BEGIN
  SELECT * INTO v FROM public.limits
  WHERE coalesce(principal, '') = coalesce(p ->> 'principal', '') AND coalesce(account_id, '') = coalesce(p ->> 'accountId', '') FOR UPDATE;
  IF coalesce(v.bounds, '{}') <> v_before THEN
    RETURN NULL;
  END IF;
  PERFORM public.close_sending();
  IF v_bounds = '{}' THEN
    DELETE FROM public.limits WHERE limits_id = v.limits_id;
  ELSIF v.limits_id IS NOT NULL THEN
    UPDATE public.limits SET bounds = v_bounds, changed_by = p ->> 'by', reason = p ->> 'reason', changed_at = v_at, change = DEFAULT
    WHERE limits_id = v.limits_id;
  ELSE
    INSERT INTO public.limits (principal, account_id, bounds, changed_by, reason, changed_at)
    VALUES (p ->> 'principal', p ->> 'accountId', v_bounds, p ->> 'by', p ->> 'reason', v_at)
    ON CONFLICT (coalesce(principal, ''), coalesce(account_id, '')) DO NOTHING;
    IF NOT FOUND THEN
      RETURN NULL;
    END IF;
  END IF;
  INSERT INTO public.audit_log (at, principal, action, account_id, request_id, reason, detail)
  VALUES (v_at, p ->> 'by', 'change_limits', p ->> 'accountId', p ->> 'requestId', p ->> 'reason',
    json_strip_nulls(json_build_object('of', p ->> 'principal', 'approvedBy', p ->> 'approvedBy', 'before', v_before, 'after', v_bounds)))
  RETURNING id INTO v_line;
  RETURN v_line;
END
$$;

CREATE OR REPLACE FUNCTION public.uses_reference_again(p json) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN (p ->> 'callerRefOnce')::boolean IS TRUE
    AND EXISTS (SELECT FROM public.commands WHERE caller_ref = p ->> 'callerRef' AND principal = p ->> 'principal');
END
$$;

CREATE OR REPLACE FUNCTION public.may_supersede(p json, v_prior public.commands) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN (v_prior.kind = p -> 'request' ->> 'kind' AND v_prior.account_id = p -> 'request' ->> 'accountId'
    AND (v_prior.state = 'unknown' AND v_prior.presumed_absent OR v_prior.state = 'conflict' AND v_prior.kind = 'replace'
      AND v_prior.created_at <= public.ms_to_time((p ->> 'atMs')::double precision) - interval '10 minutes')
    AND NOT (v_prior.kind = 'place' AND public.is_superseded(v_prior.command_id))) IS TRUE;
END
$$;

CREATE OR REPLACE FUNCTION public.preview_command(p json) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_prior public.commands;
BEGIN
  -- The server itself refuses a write from here on, to the end of the transaction.
  PERFORM set_config('transaction_read_only', 'on', true);
  SELECT * INTO v_prior FROM public.commands WHERE command_id = (p ->> 'supersedes')::uuid;
  RETURN json_build_object('callerRefReused', public.uses_reference_again(p),
    'notSuperseded', p ->> 'supersedes' IS NOT NULL AND NOT public.may_supersede(p, v_prior),
    'limits', (SELECT coalesce(json_agg(w), '[]') FROM public.weigh_limits(p, true) AS w));
END
$$;

CREATE OR REPLACE FUNCTION public.sending_objection(c public.commands) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_cause text;
  v_why text;
BEGIN
  SELECT cause, reason INTO v_cause, v_why FROM public.halts
  WHERE cleared_at IS NULL AND coalesce(account_id, '') IN ('', c.account_id) ORDER BY number LIMIT 1;
  IF FOUND THEN
    RETURN json_build_object('code', 'PLACING_HALTED', 'message', left(format('placing was halted (%s): %s', v_cause, v_why), 500));
  END IF;
  IF c.token_number IS NOT NULL AND NOT EXISTS (
    SELECT FROM public.principal_tokens t
    WHERE t.principal = c.principal AND t.number = c.token_number AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
  ) THEN
    RETURN json_build_object('code', 'TOKEN_ENDED', 'message', 'the token that asked for it was revoked, or has expired');
  END IF;
  IF EXISTS (
    SELECT FROM public.limits l WHERE l.change > c.limits_change
      AND (coalesce(l.principal, ''), coalesce(l.account_id, '')) IN (('', ''), ('', c.account_id), (c.principal, ''), (c.principal, c.account_id))
  ) THEN
    RETURN json_build_object('code', 'LIMITS_CHANGED', 'message', 'its limits were changed after it was judged by them: send it again, with a new key');
  END IF;
  RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION public.set_cancel_timers(p_shard integer, p_epoch bigint, p json) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_changed json;
  v_after double precision := (p ->> 'afterMs')::double precision;
  v_fires timestamptz := clock_timestamp() + v_after * interval '1 millisecond';
BEGIN
  IF NOT public.hold_command_fence(p_shard, p_epoch) THEN
    RETURN NULL;
  END IF;
  IF v_after = 0 THEN
    WITH ended AS (
      UPDATE public.cancel_timers t SET ended_at = clock_timestamp(), changes = t.changes + 1 FROM json_array_elements(p -> 'timers') e
      WHERE t.shard = p_shard AND t.principal = p ->> 'principal' AND t.account_id = e ->> 'accountId' AND t.ended_at IS NULL
      RETURNING t.*
    )
    SELECT json_build_object('shard', t.shard, 'principal', t.principal, 'accountId', t.account_id, 'changes', t.changes) INTO v_changed FROM ended t LIMIT 1;
  ELSE
    WITH armed AS (
      INSERT INTO public.cancel_timers AS t (shard, principal, account_id, timer_id, fires_at)
      SELECT p_shard, p ->> 'principal', e ->> 'accountId', (e ->> 'timerId')::uuid, v_fires FROM json_array_elements(p -> 'timers') e
      ON CONFLICT (shard, principal, account_id)
      DO UPDATE SET timer_id = excluded.timer_id, fires_at = excluded.fires_at, ended_at = NULL, changes = t.changes + 1
      RETURNING t.*
    )
    SELECT json_build_object('shard', t.shard, 'principal', t.principal, 'accountId', t.account_id, 'changes', t.changes) INTO v_changed FROM armed t LIMIT 1;
  END IF;
  RETURN json_build_object('firesAtMs', public.time_to_ms(v_fires), 'changed', v_changed);
END
$$;

CREATE OR REPLACE FUNCTION public.clear_halts(
  p_shard integer, p_epoch bigint, p_account_id text, p_by text, p_reason text, p_at_ms double precision, p_of_some boolean
) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_cleared json;
BEGIN
  IF NOT public.hold_command_fence(p_shard, p_epoch) THEN
    RETURN NULL;
  END IF;
  IF p_of_some AND EXISTS (SELECT FROM public.halts WHERE account_id IS NOT DISTINCT FROM p_account_id AND cleared_at IS NULL AND cause = 'operator') THEN
    RETURN '"kept"';
  END IF;
  -- A halt that was raised after the check above stays.
  WITH cleared AS (
    UPDATE public.halts SET cleared_at = public.ms_to_time(p_at_ms), cleared_by = p_by, cleared_reason = p_reason
    WHERE account_id IS NOT DISTINCT FROM p_account_id AND cleared_at IS NULL AND NOT (p_of_some AND cause = 'operator')
    RETURNING halt_id
  )
  SELECT coalesce(json_agg(halt_id), '[]') INTO v_cleared FROM cleared;
  RETURN v_cleared;
END
$$;

CREATE OR REPLACE FUNCTION public.hold_halts(p_lane integer, p_epoch bigint, p_halt_ids text[]) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE public.lanes SET halts_held = coalesce(
    (SELECT min(number) - 1 FROM public.halts WHERE cleared_at IS NULL AND halt_id <> ALL (p_halt_ids)), (SELECT max(number) FROM public.halts), 0)
  WHERE lane = p_lane AND epoch = p_epoch;
  RETURN FOUND;
END
$$;

CREATE OR REPLACE FUNCTION public.without_halt(p_halt_id text, p_expire_ms double precision) RETURNS SETOF text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT l.holder FROM public.lanes l
  WHERE l.holder IS NOT NULL AND l.holder NOT LIKE '%/finisher' AND abs(extract(epoch FROM clock_timestamp() - l.renewed_at)) * 1000 < p_expire_ms
    AND l.halts_held < (SELECT h.number FROM public.halts h WHERE h.halt_id = p_halt_id AND h.cleared_at IS NULL)
  ORDER BY l.lane
$$;

CREATE OR REPLACE FUNCTION public.lacks_actions(p_seen json) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT p_seen #>> '{command,commandId}' IS NOT NULL AND NOT EXISTS (
      SELECT FROM public.commands c
      WHERE c.command_id = (p_seen #>> '{command,commandId}')::uuid AND c.version >= (p_seen #>> '{command,version}')::integer)
    OR p_seen ->> 'sentAttemptId' IS NOT NULL AND NOT EXISTS (
      SELECT FROM public.attempts a WHERE a.attempt_id = p_seen ->> 'sentAttemptId' AND a.sending_at IS NOT NULL)
    OR p_seen ->> 'haltId' IS NOT NULL AND NOT EXISTS (SELECT FROM public.halts h WHERE h.halt_id = p_seen ->> 'haltId')
    OR p_seen ->> 'clearedHaltId' IS NOT NULL AND NOT EXISTS (
      SELECT FROM public.halts h WHERE h.halt_id = p_seen ->> 'clearedHaltId' AND h.cleared_at IS NOT NULL)
    OR p_seen #>> '{limitsChange,auditId}' IS NOT NULL AND NOT EXISTS (
      SELECT FROM public.audit_log a
      WHERE a.id = (p_seen #>> '{limitsChange,auditId}')::bigint AND a.action = 'change_limits'
        AND a.at = public.ms_to_time((p_seen #>> '{limitsChange,atMs}')::double precision))
    OR p_seen ->> 'cancelAllId' IS NOT NULL AND NOT EXISTS (
      SELECT FROM public.cancel_alls a WHERE a.cancel_all_id = (p_seen ->> 'cancelAllId')::uuid)
    OR p_seen #>> '{cancelTimer,changes}' IS NOT NULL AND NOT EXISTS (
      SELECT FROM public.cancel_timers t
      WHERE t.shard = (p_seen #>> '{cancelTimer,shard}')::integer AND t.principal = p_seen #>> '{cancelTimer,principal}'
        AND t.account_id = p_seen #>> '{cancelTimer,accountId}' AND t.changes >= (p_seen #>> '{cancelTimer,changes}')::integer)
    OR p_seen #>> '{endedToken,number}' IS NOT NULL AND NOT EXISTS (
      SELECT FROM public.principal_tokens t
      WHERE t.principal = p_seen #>> '{endedToken,principal}' AND t.number = (p_seen #>> '{endedToken,number}')::integer
        -- By the clock of the process, which may be behind. A token that lasts no longer than this hour is not worth a halt.
        AND t.expires_at <= public.ms_to_time((p_seen #>> '{endedToken,endsAtMs}')::double precision) + interval '1 hour')
$$;

CREATE OR REPLACE FUNCTION public.lacks_commits(p_lane integer, p_seen json) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT p_seen IS NOT NULL AND NOT EXISTS (
    SELECT FROM public.lanes l
    WHERE l.lane = p_lane AND l.generation >= (p_seen ->> 'generation')::integer
      AND (l.generation > (p_seen ->> 'generation')::integer OR (
        l.epoch >= (p_seen ->> 'epoch')::bigint AND public.lane_batch(l.lane) >= (p_seen ->> 'batch')::bigint
        AND NOT public.lacks_actions(p_seen))))
$$;

CREATE OR REPLACE FUNCTION public.count_lacking_batches(p_batches json) RETURNS bigint
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT count(*)
  FROM json_array_elements(p_batches) AS each(seen)
  CROSS JOIN LATERAL json_to_record(each.seen) AS b(lane integer, generation integer, batch bigint, epoch bigint)
  CROSS JOIN (SELECT coalesce(max(l.generation), 1) AS generation FROM public.lanes l) AS now
  LEFT JOIN public.lanes n ON n.lane = b.lane
  WHERE b.generation > now.generation OR b.generation = now.generation AND (
    coalesce(public.lane_batch(b.lane), 0) < b.batch OR coalesce(n.epoch, 0) < b.epoch
    OR public.lacks_actions(each.seen))
$$;

CREATE OR REPLACE FUNCTION public.commands_guard() RETURNS trigger
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

SET LOCAL check_function_bodies = on;
