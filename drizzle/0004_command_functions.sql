-- The rules of the journal of commands. The functions run as their caller, who may write these tables: what no caller may do is refused by triggers and
-- constraints, so it is refused to the owner and to people as well. TM010: a write that the journal's rules forbid. TM011: a later holder has taken over.
-- TM012: there is no such command.

-- A batch that brings orders with our own attempts' ids. A function beside `apply_batch`, not further parameters of it: batches without any, so nearly all,
-- cost what they did, and a service of the build before this one goes on during a deployment.
CREATE FUNCTION public.apply_batch_with_bindings(
  p_lane integer, p_epoch bigint, p_number bigint,
  h_stream text[], h_order_id text[], h_account_id text[], h_symbol text[], h_status text[],
  h_revision bigint[], h_source_version bigint[], h_state json[], h_join_state json[],
  u_stream text[], u_order_id text[], u_account_id text[], u_revision bigint[], u_payload text[],
  q_stream text[], q_account_id text[], q_order_id text[], q_reason text[], q_detail text[], q_raw text[], q_observed_ms bigint[],
  b_stream text[], b_order_id text[], b_attempt_id text[], b_command_id text[], b_matches bigint[]
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_last bigint;
BEGIN
  v_last := public.apply_batch(
    p_lane, p_epoch, p_number,
    h_stream, h_order_id, h_account_id, h_symbol, h_status, h_revision, h_source_version, h_state, h_join_state,
    u_stream, u_order_id, u_account_id, u_revision, u_payload,
    q_stream, q_account_id, q_order_id, q_reason, q_detail, q_raw, q_observed_ms);
  -- An order is bound once: what was written first stays.
  INSERT INTO public.order_bindings (stream, order_id, attempt_id, command_id, matches)
  SELECT b.stream, b.order_id, b.attempt_id, b.command_id::uuid, b.matches <> 0
  FROM unnest(b_stream, b_order_id, b_attempt_id, b_command_id, b_matches) AS b(stream, order_id, attempt_id, command_id, matches)
  ON CONFLICT (stream, order_id) DO NOTHING;
  RETURN v_last;
END
$$;
--> statement-breakpoint
-- These two are of a volatility that lets the planner put their text in their place. Everything longer is plpgsql, which keeps its plans: a function in SQL is
-- planned again by each statement that calls it.
CREATE FUNCTION public.ms_to_time(p_ms double precision) RETURNS timestamptz
LANGUAGE sql IMMUTABLE AS $$ SELECT to_timestamp(p_ms / 1000) $$;
--> statement-breakpoint
CREATE FUNCTION public.time_to_ms(p_at timestamptz) RETURNS bigint
LANGUAGE sql STABLE AS $$ SELECT round(extract(epoch FROM p_at) * 1000)::bigint $$;
--> statement-breakpoint
-- A command with its attempts, in the names of domain/command.ts. 64-bit numbers are text, what is absent is null at the top level of each object.
CREATE FUNCTION public.command_json(c public.commands) RETURNS json
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN json_build_object(
    'commandId', c.command_id, 'lane', c.lane, 'principal', c.principal, 'idempotencyKey', c.idempotency_key, 'requestHash', c.request_hash,
    'request', c.request, 'callerRef', c.caller_ref, 'supersedes', c.supersedes, 'state', c.state, 'version', c.version, 'orderId', c.order_id,
    'reason', c.reason, 'presumedAbsent', c.presumed_absent, 'pendingRevision', c.pending_revision, 'pendingVersion', c.pending_version::text,
    'misses', c.misses, 'baseline', c.baseline, 'deadlineAtMs', public.time_to_ms(c.deadline_at), 'createdAtMs', public.time_to_ms(c.created_at),
    'updatedAtMs', public.time_to_ms(c.updated_at), 'settledAtMs', public.time_to_ms(c.settled_at),
    'attempts', (
      SELECT coalesce(json_agg(json_build_object(
        'attemptId', a.attempt_id, 'number', a.number, 'state', a.state, 'epoch', a.epoch::text, 'preparedAtMs', public.time_to_ms(a.prepared_at),
        'sendingAtMs', public.time_to_ms(a.sending_at), 'answeredAtMs', public.time_to_ms(a.answered_at), 'reason', a.reason) ORDER BY a.number), '[]')
      FROM public.attempts a WHERE a.command_id = c.command_id));
END
$$;
--> statement-breakpoint
-- True: the journal is this holder's until the end of the transaction. Equal, not "at least": a holder writes only after it has swept.
CREATE FUNCTION public.hold_command_fence(p_lane integer, p_epoch bigint) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM FROM public.command_fence f WHERE f.lane = p_lane AND f.epoch = p_epoch FOR SHARE;
  RETURN FOUND;
END
$$;
--> statement-breakpoint
-- Appends evidence. Whoever calls it has locked the command's row, so numbers neither collide nor leave holes.
CREATE FUNCTION public.append_evidence(p_command_id uuid, p_evidence json) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO public.evidence (command_id, number, kind, code, detail, attempt_id, at)
  SELECT p_command_id, (SELECT coalesce(max(number), 0) FROM public.evidence WHERE command_id = p_command_id) + e.place,
    e.fact ->> 'kind', e.fact ->> 'code', e.fact -> 'detail', e.fact ->> 'attemptId', public.ms_to_time((e.fact ->> 'atMs')::double precision)
  FROM json_array_elements(p_evidence) WITH ORDINALITY AS e(fact, place);
END
$$;
--> statement-breakpoint
CREATE FUNCTION public.add_command_evidence(p_command_id uuid, p_evidence json) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM FROM public.commands WHERE command_id = p_command_id FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'there is no command %', p_command_id USING ERRCODE = 'TM012';
  END IF;
  PERFORM public.append_evidence(p_command_id, p_evidence);
END
$$;
--> statement-breakpoint
-- The event of the step that a command just took. Returns the command as it is now.
CREATE FUNCTION public.tell_step(p_command_id uuid) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_snapshot json;
BEGIN
  INSERT INTO public.command_events (command_id, version, snapshot)
  SELECT c.command_id, c.version, public.command_json(c) FROM public.commands c WHERE c.command_id = p_command_id
  RETURNING snapshot INTO v_snapshot;
  RETURN v_snapshot;
END
$$;
--> statement-breakpoint
-- One command: its row, attempt 1 (or the refusal), evidence, event. `p` is a NewCommand (commands/command-journal.ts) with place terms' symbol and side.
-- Of many with one key at once, one inserts, the others wait at the unique index and find it.
CREATE FUNCTION public.open_command(p_lane integer, p_epoch bigint, p json) RETURNS json
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
      OR EXISTS (SELECT FROM public.commands WHERE supersedes = v_prior.command_id)
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
-- PREPARED → SENDING. False: not this holder's any more, or not prepared any more; nothing was written.
CREATE FUNCTION public.mark_sending(p_lane integer, p_epoch bigint, p_attempt_id text, p_at_ms double precision) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_command_id uuid;
BEGIN
  IF NOT public.hold_command_fence(p_lane, p_epoch) THEN
    RETURN false;
  END IF;
  -- One table a statement, by its key: a join's plan made while the tables were empty would be kept.
  SELECT command_id INTO v_command_id FROM public.attempts WHERE attempt_id = p_attempt_id;
  PERFORM FROM public.commands WHERE command_id = v_command_id AND state = 'open' FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  UPDATE public.attempts SET state = 'sending', sending_at = public.ms_to_time(p_at_ms)
  WHERE attempt_id = p_attempt_id AND state = 'prepared' AND epoch = p_epoch;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  PERFORM public.append_evidence(v_command_id, json_build_array(json_build_object('kind', 'note', 'code', 'sending', 'detail', json_build_object(),
    'attemptId', p_attempt_id, 'atMs', p_at_ms)));
  RETURN true;
END
$$;
--> statement-breakpoint
-- One step by compare-and-set on the version (and on the attempt's state, which `mark_sending` changes without a version). `p` is a CommandStep.
CREATE FUNCTION public.step_command(p_lane integer, p_epoch bigint, p json) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v public.commands;
  v_id uuid := p ->> 'commandId';
  v_to text := p ->> 'to';
  v_at timestamptz := public.ms_to_time((p ->> 'atMs')::double precision);
  v_attempt json := p -> 'attempt';
BEGIN
  IF NOT public.hold_command_fence(p_lane, p_epoch) THEN
    RETURN json_build_object('kind', 'fenced');
  END IF;
  SELECT * INTO v FROM public.commands WHERE command_id = v_id AND lane = p_lane FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'there is no command %', v_id USING ERRCODE = 'TM012';
  END IF;
  IF v.version <> (p ->> 'version')::integer THEN
    RETURN json_build_object('kind', 'stale', 'command', public.command_json(v));
  END IF;
  IF v_attempt IS NOT NULL THEN
    UPDATE public.attempts SET state = v_attempt ->> 'to', answered_at = v_at, reason = coalesce(v_attempt -> 'reason', reason)
    WHERE attempt_id = v_attempt ->> 'attemptId' AND command_id = v_id AND state = v_attempt ->> 'from';
    IF NOT FOUND THEN
      RETURN json_build_object('kind', 'stale', 'command', public.command_json(v));
    END IF;
  END IF;
  UPDATE public.commands SET
    state = v_to, version = version + 1, updated_at = v_at,
    reason = coalesce(p -> 'reason', reason),
    order_id = coalesce(p ->> 'orderId', order_id),
    presumed_absent = v_to = 'unknown' AND coalesce((p ->> 'presumedAbsent')::boolean, presumed_absent),
    pending_revision = coalesce((p -> 'seenPendingAt' ->> 'revision')::bigint, pending_revision),
    pending_version = CASE WHEN p -> 'seenPendingAt' IS NULL THEN pending_version ELSE (p -> 'seenPendingAt' ->> 'sourceVersion')::bigint END,
    misses = coalesce((p ->> 'misses')::integer, misses),
    settled_at = CASE WHEN v_to IN ('refused', 'not_sent', 'applied', 'rejected', 'moot') THEN coalesce(settled_at, v_at) END
  WHERE command_id = v_id;
  IF p ->> 'nextAttemptId' IS NOT NULL THEN
    IF v_to <> 'open' THEN
      RAISE EXCEPTION 'command % becomes % and prepares another attempt', v_id, v_to USING ERRCODE = 'TM010';
    END IF;
    INSERT INTO public.attempts (attempt_id, command_id, number, state, epoch, prepared_at)
    SELECT p ->> 'nextAttemptId', v_id, max(number) + 1, 'prepared', p_epoch, v_at FROM public.attempts WHERE command_id = v_id;
  END IF;
  PERFORM public.append_evidence(v_id, p -> 'evidence');
  RETURN json_build_object('kind', 'stepped', 'command', public.tell_step(v_id));
END
$$;
--> statement-breakpoint
-- Raises the fence, which waits for every journal transaction of the former holder and shuts out the later ones; then sweeps what it left: an attempt that
-- was SENDING may have been written, one that was PREPARED was not. Returns how many commands it swept: as many as were in hand, so a few hundred at most.
-- Called again under the same epoch it sweeps nothing that this epoch prepared.
CREATE FUNCTION public.take_over_commands(p_lane integer, p_epoch bigint, p_at_ms double precision) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v public.commands;
  v_last public.attempts;
  v_was text;
  v_swept integer := 0;
  v_at timestamptz := public.ms_to_time(p_at_ms);
  v_reason json := json_build_object('code', 'TAKEN_OVER', 'message', 'the process that had it in hand is gone');
BEGIN
  INSERT INTO public.command_fence AS f (lane, epoch) VALUES (p_lane, p_epoch)
  ON CONFLICT (lane) DO UPDATE SET epoch = excluded.epoch WHERE f.epoch <= excluded.epoch;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'lane % was taken over by a later holder than epoch %', p_lane, p_epoch USING ERRCODE = 'TM011';
  END IF;

  FOR v IN
    SELECT * FROM public.commands c
    WHERE c.lane = p_lane AND c.command_id IN (
      SELECT command_id FROM public.attempts WHERE state IN ('prepared', 'sending') AND epoch < p_epoch
      UNION SELECT command_id FROM public.commands WHERE settled_at IS NULL AND state = 'open')
    ORDER BY c.created_at, c.command_id FOR NO KEY UPDATE
  LOOP
    SELECT * INTO v_last FROM public.attempts a WHERE a.command_id = v.command_id ORDER BY a.number DESC LIMIT 1;
    CONTINUE WHEN v_last.epoch >= p_epoch;
    v_was := v_last.state;
    IF v_was IN ('prepared', 'sending') THEN
      UPDATE public.attempts SET state = CASE v_was WHEN 'sending' THEN 'unknown' ELSE 'not_sent' END, answered_at = v_at, reason = v_reason
      WHERE attempt_id = v_last.attempt_id RETURNING state INTO v_last.state;
    END IF;
    -- One that was settled before its answer came keeps its outcome; only its attempt is told.
    UPDATE public.commands c SET
      state = CASE c.state WHEN 'open' THEN v_last.state ELSE c.state END,
      reason = CASE c.state WHEN 'open' THEN v_reason ELSE c.reason END,
      settled_at = CASE WHEN c.state = 'open' AND v_last.state IN ('not_sent', 'refused', 'rejected') THEN v_at ELSE c.settled_at END,
      version = c.version + 1, updated_at = v_at
    WHERE c.command_id = v.command_id;
    PERFORM public.append_evidence(v.command_id, json_build_array(json_build_object('kind', 'note', 'code', 'taken_over',
      'detail', json_build_object('epoch', p_epoch::text, 'was', v_was), 'attemptId', v_last.attempt_id, 'atMs', p_at_ms)));
    PERFORM public.tell_step(v.command_id);
    v_swept := v_swept + 1;
  END LOOP;
  RETURN v_swept;
END
$$;
--> statement-breakpoint
-- Adds a halt unless an active one has the same scope and cause; the active one, either way. Null: fenced.
CREATE FUNCTION public.raise_halt(p_lane integer, p_epoch bigint, p_halt_id text, p_account_id text, p_cause text, p_reason text, p_by text, p_since_ms double precision)
RETURNS SETOF public.halts
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT public.hold_command_fence(p_lane, p_epoch) THEN
    RETURN;
  END IF;
  LOOP
    INSERT INTO public.halts (halt_id, account_id, cause, reason, raised_by, since)
    VALUES (p_halt_id, p_account_id, p_cause, p_reason, p_by, public.ms_to_time(p_since_ms))
    ON CONFLICT (coalesce(account_id, ''), cause) WHERE cleared_at IS NULL DO NOTHING;
    RETURN QUERY SELECT * FROM public.halts h
      WHERE h.account_id IS NOT DISTINCT FROM p_account_id AND h.cause = p_cause AND h.cleared_at IS NULL;
    EXIT WHEN FOUND;
  END LOOP;
END
$$;
--> statement-breakpoint
-- Clears what is active in the scope; how many that were, or null: fenced.
CREATE FUNCTION public.clear_halts(p_lane integer, p_epoch bigint, p_account_id text, p_by text, p_reason text, p_at_ms double precision) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_rows integer;
BEGIN
  IF NOT public.hold_command_fence(p_lane, p_epoch) THEN
    RETURN NULL;
  END IF;
  UPDATE public.halts SET cleared_at = public.ms_to_time(p_at_ms), cleared_by = p_by, cleared_reason = p_reason
  WHERE account_id IS NOT DISTINCT FROM p_account_id AND cleared_at IS NULL;
  GET DIAGNOSTICS v_rows = ROW_COUNT;
  RETURN v_rows;
END
$$;
--> statement-breakpoint
-- What no code and no person may do to a command, whatever privileges they have. The states that may follow each other are those of domain/command-machine.ts
-- (a test holds the two to each other), and staying, since evidence and misses are steps too.
CREATE FUNCTION public.commands_guard() RETURNS trigger
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
CREATE TRIGGER commands_guard BEFORE INSERT OR UPDATE ON public.commands FOR EACH ROW EXECUTE FUNCTION public.commands_guard();
--> statement-breakpoint
-- Prepared → sending once and never back; nothing leaves an end; a further attempt only behind one that came to nothing.
CREATE FUNCTION public.attempts_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.state <> 'prepared' OR NEW.sending_at IS NOT NULL OR NEW.answered_at IS NOT NULL THEN
      RAISE EXCEPTION 'attempt % begins prepared', NEW.attempt_id USING ERRCODE = 'TM010';
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
--> statement-breakpoint
CREATE TRIGGER attempts_guard BEFORE INSERT OR UPDATE ON public.attempts FOR EACH ROW EXECUTE FUNCTION public.attempts_guard();
--> statement-breakpoint
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
--> statement-breakpoint
CREATE TRIGGER halts_guard BEFORE UPDATE ON public.halts FOR EACH ROW EXECUTE FUNCTION public.halts_guard();
--> statement-breakpoint
-- An event is told once, and goes only when it was.
CREATE FUNCTION public.command_events_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    IF OLD.published_at IS NULL THEN
      RAISE EXCEPTION 'event % was not published yet', OLD.id USING ERRCODE = 'TM010';
    END IF;
    RETURN OLD;
  END IF;
  IF (OLD.id, OLD.command_id, OLD.version, OLD.snapshot::text, OLD.recorded_at) IS DISTINCT FROM
     (NEW.id, NEW.command_id, NEW.version, NEW.snapshot::text, NEW.recorded_at) THEN
    RAISE EXCEPTION 'event % never changes', OLD.id USING ERRCODE = 'TM010';
  END IF;
  RETURN NEW;
END
$$;
--> statement-breakpoint
CREATE TRIGGER command_events_guard BEFORE UPDATE OR DELETE ON public.command_events FOR EACH ROW EXECUTE FUNCTION public.command_events_guard();
--> statement-breakpoint
-- Statement triggers, so that they cost the tables' own writes nothing.
CREATE FUNCTION public.refuse_loss() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION '% of % is not allowed: it only grows', TG_OP, TG_TABLE_NAME USING ERRCODE = 'TM010';
END
$$;
--> statement-breakpoint
CREATE TRIGGER evidence_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON public.evidence FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();
CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON public.audit_log FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();
CREATE TRIGGER commands_stay BEFORE DELETE OR TRUNCATE ON public.commands FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();
CREATE TRIGGER attempts_stay BEFORE DELETE OR TRUNCATE ON public.attempts FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();
CREATE TRIGGER halts_stay BEFORE DELETE OR TRUNCATE ON public.halts FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();
CREATE TRIGGER order_bindings_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON public.order_bindings FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();
CREATE TRIGGER command_events_stay BEFORE TRUNCATE ON public.command_events FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();
