-- ----- Cancel-all -----

-- Like the key of a command, that of a cancel-all is held until it has ended and all its cancels are final, and seven days at least.
CREATE FUNCTION public.cancel_all_holds_key(c public.cancel_alls, p_at timestamptz) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN c.created_at > p_at - interval '7 days' OR c.ended_at IS NULL OR EXISTS (
    SELECT FROM public.open_commands w JOIN public.journal m ON m.command_id = w.command_id AND m.number = 1
    WHERE w.standing <> 'resolved' AND m.principal = c.principal AND starts_with(m.idempotency_key, 'cancel-all:' || c.cancel_all_id || ':'));
END
$$;

-- Writes a cancel-all with its list, or returns the one that has the key already. `p` is a NewCancelAll (store/commands/command-journal.ts).
CREATE FUNCTION public.open_cancel_all(p_shard integer, p_epoch bigint, p json) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v public.cancel_alls;
  v_at timestamptz := public.ms_to_time((p ->> 'atMs')::double precision);
BEGIN
  IF NOT public.hold_command_fence(p_shard, p_epoch) THEN
    RETURN json_build_object('kind', 'fenced');
  END IF;
  LOOP
    SELECT * INTO v FROM public.cancel_alls WHERE shard = p_shard AND principal = p ->> 'principal' AND idempotency_key = p ->> 'idempotencyKey' AND key_held;
    IF FOUND THEN
      IF public.cancel_all_holds_key(v, v_at) THEN
        IF v.request_hash = p ->> 'requestHash' THEN
          RETURN json_build_object('kind', 'replayed', 'cancelAll', public.cancel_all_json(v));
        END IF;
        RETURN json_build_object('kind', 'key_reused');
      END IF;
      UPDATE public.cancel_alls SET key_held = false WHERE cancel_all_id = v.cancel_all_id AND key_held;
    END IF;
    INSERT INTO public.cancel_alls (cancel_all_id, shard, principal, idempotency_key, request_hash, selection, reason, on_landing, orders, places, unread,
      declined, created_at)
    VALUES ((p ->> 'cancelAllId')::uuid, p_shard, p ->> 'principal', p ->> 'idempotencyKey', p ->> 'requestHash', p -> 'selection', p ->> 'reason',
      p ->> 'onLanding', p -> 'orders', p -> 'places', p -> 'unread', p -> 'declined', v_at)
    ON CONFLICT (shard, principal, idempotency_key) WHERE key_held DO NOTHING
    RETURNING * INTO v;
    EXIT WHEN FOUND;
  END LOOP;
  RETURN json_build_object('kind', 'opened', 'cancelAll', public.cancel_all_json(v));
END
$$;

CREATE FUNCTION public.cancel_all_json(c public.cancel_alls) RETURNS json
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN json_build_object('cancelAllId', c.cancel_all_id, 'principal', c.principal, 'idempotencyKey', c.idempotency_key, 'requestHash', c.request_hash,
    'selection', c.selection, 'reason', c.reason, 'onLanding', c.on_landing, 'orders', c.orders, 'places', c.places, 'unread', c.unread,
    'declined', c.declined, 'atMs', public.time_to_ms(c.created_at));
END
$$;

-- Ends it, once only. False: fenced.
CREATE FUNCTION public.end_cancel_all(p_shard integer, p_epoch bigint, p_cancel_all_id uuid, p_at_ms double precision) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT public.hold_command_fence(p_shard, p_epoch) THEN
    RETURN false;
  END IF;
  UPDATE public.cancel_alls SET ended_at = public.ms_to_time(p_at_ms) WHERE cancel_all_id = p_cancel_all_id AND ended_at IS NULL;
  RETURN true;
END
$$;

-- ----- Dead man's switch -----

-- Arms or renews the timers of these accounts; with `afterMs` 0 it ends them. Returns when they run out, in milliseconds, and one of the timers that it changed, as
-- an `Act` (runtime/lease.ts); null: fenced.
CREATE FUNCTION public.set_cancel_timers(p_shard integer, p_epoch bigint, p json) RETURNS json
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
    SELECT json_build_array('timer', t.shard, t.principal, t.account_id, t.changes) INTO v_changed FROM ended t LIMIT 1;
  ELSE
    WITH armed AS (
      INSERT INTO public.cancel_timers AS t (shard, principal, account_id, timer_id, fires_at)
      SELECT p_shard, p ->> 'principal', e ->> 'accountId', (e ->> 'timerId')::uuid, v_fires FROM json_array_elements(p -> 'timers') e
      ON CONFLICT (shard, principal, account_id)
      DO UPDATE SET timer_id = excluded.timer_id, fires_at = excluded.fires_at, ended_at = NULL, changes = t.changes + 1
      RETURNING t.*
    )
    SELECT json_build_array('timer', t.shard, t.principal, t.account_id, t.changes) INTO v_changed FROM armed t LIMIT 1;
  END IF;
  RETURN json_build_object('firesAtMs', public.time_to_ms(v_fires), 'changed', v_changed);
END
$$;

-- Ends a timer that has fired, with its cancel-all written down. No effect where it was renewed since; false: fenced.
CREATE FUNCTION public.end_cancel_timer(p_shard integer, p_epoch bigint, p_timer_id uuid) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT public.hold_command_fence(p_shard, p_epoch) THEN
    RETURN false;
  END IF;
  UPDATE public.cancel_timers SET ended_at = clock_timestamp() WHERE shard = p_shard AND timer_id = p_timer_id AND ended_at IS NULL;
  RETURN true;
END
$$;

-- ----- Halts -----

-- In the names of store/commands/halts-journal.ts, with the scope as `accountId`.
CREATE FUNCTION public.halt_json(h public.halts) RETURNS json
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN json_strip_nulls(json_build_object(
    'haltId', h.halt_id, 'accountId', h.account_id, 'cause', h.cause, 'reason', h.reason, 'by', h.raised_by, 'sinceMs', public.time_to_ms(h.since),
    'clearedAtMs', public.time_to_ms(h.cleared_at), 'clearedBy', h.cleared_by, 'clearedReason', h.cleared_reason));
END
$$;

-- Runs as its owner, so that only a change of a halt can write such an event.
CREATE FUNCTION public.record_halt_event() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO public.halt_events (snapshot) VALUES (public.halt_json(NEW));
  RETURN NULL;
END
$$;

CREATE TRIGGER halts_recorded AFTER INSERT OR UPDATE ON public.halts FOR EACH ROW EXECUTE FUNCTION public.record_halt_event();

-- Adds a halt unless an active one has the same scope and cause. Returns the active one, either way. Where the halt itself is there and was cleared, that row: a process
-- puts back what it has seen here and misses, and may be the last one to hear of a resume. Under no fence: a halt only forbids.
-- It ends the requests to resume the same scope that wait for a second principal: they were made before it.
CREATE FUNCTION public.raise_halt(p_halt_id text, p_account_id text, p_cause text, p_reason text, p_by text, p_since_ms double precision) RETURNS public.halts
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v public.halts;
  -- The service raises a halt again for each order that lands late; a person who halts again means it.
  v_anew boolean := p_cause IN ('operator', 'account_operator');
BEGIN
  PERFORM public.close_sending();
  LOOP
    INSERT INTO public.halts (halt_id, account_id, cause, reason, raised_by, since)
    VALUES (p_halt_id, p_account_id, p_cause, p_reason, p_by, public.ms_to_time(p_since_ms))
    ON CONFLICT DO NOTHING;
    v_anew := v_anew OR FOUND;
    SELECT * INTO v FROM public.halts h
      WHERE h.halt_id = p_halt_id OR h.account_id IS NOT DISTINCT FROM p_account_id AND h.cause = p_cause AND h.cleared_at IS NULL
      ORDER BY h.cleared_at NULLS FIRST LIMIT 1;
    EXIT WHEN FOUND;
  END LOOP;
  -- Two principals agreed on a resume, or one of them has asked for it: neither knew of this halt. Ended long ago, so that no clock that is behind takes it as waiting.
  IF v_anew THEN
    UPDATE public.approvals SET expires_at = to_timestamp(0)
    WHERE approved_at IS NULL AND expires_at > to_timestamp(0) AND action ->> 'kind' = 'resume' AND account_id IS NOT DISTINCT FROM p_account_id;
  END IF;
  RETURN v;
END
$$;

-- Called by a transaction that has just made commands of these accounts doubtful (unknown, or in conflict). Halts each account, and the service, that has so many of them now;
-- `p_most` is {account, service}. A halt that was lifted does not come back for what was counted before, only with a further command. Returns the halts that it raised.
-- One such transaction after the other: each counts what the one before it has committed. No sequential scan: a plan made while the table was small would be kept.
CREATE FUNCTION public.halt_doubtful(p_account_ids text[], p_most json, p_at_ms double precision) RETURNS json[]
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
  v_account_id text;
  v_most integer;
  v_found integer;
  v_of text;
  v_raised json[];
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('tidemark doubtful'), 0);
  FOREACH v_account_id IN ARRAY array_append(p_account_ids, NULL) LOOP
    -- Beside a resume, one of the two is first: this waits for it, or it for this.
    PERFORM FROM public.halts h WHERE coalesce(h.account_id, '') = coalesce(v_account_id, '') AND h.cause = 'unresolved' AND h.cleared_at IS NULL FOR SHARE;
    CONTINUE WHEN FOUND;
    IF v_account_id IS NULL THEN
      v_most := (p_most ->> 'service')::integer;
      v_of := '';
      SELECT count(*) INTO v_found FROM (
        SELECT FROM public.open_commands WHERE standing = 'doubtful' LIMIT v_most) AS c;
    ELSE
      v_most := (p_most ->> 'account')::integer;
      v_of := ' of the account';
      SELECT count(*) INTO v_found FROM (
        SELECT FROM public.open_commands WHERE account_id = v_account_id AND standing = 'doubtful' LIMIT v_most) AS c;
    END IF;
    CONTINUE WHEN v_found < v_most;
    v_raised := array_append(v_raised, public.halt_json(public.raise_halt(gen_random_uuid()::text, v_account_id, 'unresolved',
      format('%s commands%s have a result that is not known', v_most, v_of), 'tidemark', p_at_ms)));
  END LOOP;
  RETURN v_raised;
END
$$;

-- Clears the active halts of the scope. Returns their ids; null: fenced; "kept": none was cleared, since one of them was raised by an operator for every account, and the
-- token that asks names only some accounts (`p_of_some`).
CREATE FUNCTION public.clear_halts(
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
