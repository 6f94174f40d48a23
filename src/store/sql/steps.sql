-- ----- What the journal is asked for -----

-- Writes down an act that waits for a second principal, with its line of the audit trail. `p` is a NewApproval (store/commands/halts-journal.ts). The answer is the
-- request that waits: another one, where this principal waits for the same act already. No row: `p_most` of this principal wait already.
CREATE FUNCTION public.request_approval(p json, p_most integer) RETURNS SETOF public.approvals
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v public.approvals;
  v_by text := p ->> 'by';
  v_at timestamptz;
BEGIN
  -- One of a principal after the other: two at once would not see each other.
  PERFORM pg_advisory_xact_lock(hashtext('tidemark approvals'), hashtext(v_by));
  v_at := clock_timestamp();
  SELECT * INTO v FROM public.approvals
  WHERE approved_at IS NULL AND expires_at > v_at AND requested_by = v_by AND action::jsonb = (p -> 'action')::jsonb ORDER BY requested_at LIMIT 1;
  IF FOUND THEN
    RETURN NEXT v;
    RETURN;
  END IF;
  IF (SELECT count(*) FROM public.approvals WHERE approved_at IS NULL AND expires_at > v_at AND requested_by = v_by) >= p_most THEN
    RETURN;
  END IF;
  INSERT INTO public.approvals (approval_id, action, account_id, requested_by, reason, request_id, requested_at, expires_at)
  VALUES ((p ->> 'approvalId')::uuid, p -> 'action', p ->> 'accountId', v_by, p ->> 'reason', p ->> 'requestId', v_at,
    v_at + (p ->> 'lastsMs')::double precision * interval '1 millisecond')
  RETURNING * INTO v;
  INSERT INTO public.audit_log (at, principal, action, account_id, request_id, reason, detail)
  VALUES (v_at, v_by, 'request_approval', v.account_id, v.request_id, v.reason, json_build_object('approvalId', v.approval_id, 'action', v.action));
  RETURN NEXT v;
END
$$;

-- `p` is a NewCommand whose reference may be used once, and another command of its principal has it.
CREATE FUNCTION public.uses_reference_again(p json) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN (p ->> 'callerRefOnce')::boolean IS TRUE
    AND EXISTS (SELECT FROM public.commands WHERE caller_ref = p ->> 'callerRef' AND principal = p ->> 'principal');
END
$$;

-- Whether `p`, a NewCommand, may take the place of this command: it is presumed absent, or a replace that has been in conflict for long, and has no successor.
CREATE FUNCTION public.may_supersede(p json, v_prior public.commands) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN (v_prior.kind = p -> 'request' ->> 'kind' AND v_prior.account_id = p -> 'request' ->> 'accountId'
    AND (v_prior.state = 'unknown' AND v_prior.presumed_absent OR v_prior.state = 'conflict' AND v_prior.kind = 'replace'
      AND v_prior.created_at <= public.ms_to_time((p ->> 'atMs')::double precision) - interval '10 minutes')
    AND NOT (v_prior.kind = 'place' AND public.is_superseded(v_prior.command_id))) IS TRUE;
END
$$;

-- What `open_command` would say of this NewCommand just now, all of it at once: a JournalPreview (store/commands/journal-preview.ts). It locks nothing.
CREATE FUNCTION public.preview_command(p json) RETURNS json
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

-- One command: its row, attempt 1 (or the refusal), evidence, event. `p` is a NewCommand (store/commands/command-journal.ts) with place terms' symbol and side.
-- If many come with one key at once, one inserts, and the others wait at the unique index and find it. With `sendingAtMs` attempt 1 begins SENDING, unless
-- something forbids it to be sent, or is about to: then it begins PREPARED, and `mark_sending` says whether it may be sent.
CREATE FUNCTION public.open_command(p_shard integer, p_epoch bigint, p json) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v public.commands;
  v_id uuid := p ->> 'commandId';
  v_at timestamptz := public.ms_to_time((p ->> 'atMs')::double precision);
  v_attempt text := p ->> 'attemptId';
  v_sending timestamptz := public.ms_to_time((p ->> 'sendingAtMs')::double precision);
  v_prior public.commands;
  v_breach json;
  v_change bigint;
BEGIN
  IF NOT public.hold_command_fence(p_shard, p_epoch) THEN
    RETURN json_build_object('kind', 'fenced');
  END IF;
  LOOP
    -- Locked before the key is looked up, and looked at after: if two want to supersede the same place, the second waits here and then sees the result of the first.
    IF p ->> 'supersedes' IS NOT NULL THEN
      SELECT * INTO v_prior FROM public.commands WHERE command_id = (p ->> 'supersedes')::uuid FOR NO KEY UPDATE;
    END IF;

    -- Likewise, for a reference that may be used once. No unique index: the rule is a setting, and holds also for commands from before it was turned on.
    IF (p ->> 'callerRefOnce')::boolean THEN
      PERFORM pg_advisory_xact_lock(hashtextextended(json_build_array(p ->> 'principal', p ->> 'callerRef')::text, 0));
    END IF;

    SELECT * INTO v FROM public.commands WHERE principal = p ->> 'principal' AND idempotency_key = p ->> 'idempotencyKey' AND key_held;
    IF FOUND THEN
      -- A command that is not final keeps its key, however old: a caller that asks again must get its answer.
      IF v.resolved_at IS NULL OR v.resolved_at > v_at - interval '7 days' THEN
        IF v.request_hash = p ->> 'requestHash' THEN
          RETURN json_build_object('kind', 'replayed', 'command', public.command_json(v));
        END IF;
        RETURN json_build_object('kind', 'key_reused');
      END IF;
      UPDATE public.commands SET key_held = false WHERE command_id = v.command_id AND key_held;
    END IF;

    IF public.uses_reference_again(p) THEN
      RETURN json_build_object('kind', 'caller_ref_reused');
    END IF;

    IF p ->> 'supersedes' IS NOT NULL AND NOT public.may_supersede(p, v_prior) THEN
      RETURN json_build_object('kind', 'not_superseded');
    END IF;

    IF v_attempt IS NOT NULL THEN
      -- Read before they are judged: what is changed in between is noticed by the mark.
      SELECT max(change) INTO v_change FROM public.limits;
      v_breach := public.judge_limits(p);
      IF v_breach IS NOT NULL THEN
        RETURN json_build_object('kind', 'limited', 'breach', v_breach);
      END IF;
    END IF;

    INSERT INTO public.commands (command_id, shard, principal, idempotency_key, request_hash, kind, stream, account_id, symbol, side, request, caller_ref,
      supersedes, state, version, order_id, reason, baseline, exposure, limits_change, token_number, deadline_at, created_at, updated_at, resolved_at)
    VALUES (v_id, p_shard, p ->> 'principal', p ->> 'idempotencyKey', p ->> 'requestHash', p -> 'request' ->> 'kind', p -> 'request' ->> 'stream',
      p -> 'request' ->> 'accountId', p -> 'request' -> 'terms' ->> 'symbol', p -> 'request' -> 'terms' ->> 'side', p -> 'request', p ->> 'callerRef',
      (p ->> 'supersedes')::uuid, CASE WHEN v_attempt IS NULL THEN 'refused' ELSE 'open' END, 1, coalesce(p ->> 'orderId', p -> 'request' ->> 'orderId'),
      p -> 'refusal', p -> 'baseline', (p -> 'measure' ->> 'exposure')::numeric, coalesce(v_change, 0), (p ->> 'tokenNumber')::integer,
      public.ms_to_time((p ->> 'deadlineAtMs')::double precision), v_at, v_at, CASE WHEN v_attempt IS NULL THEN v_at END)
    ON CONFLICT (idempotency_key, principal, (case when not key_held then command_id end)) DO NOTHING
    RETURNING * INTO v;
    EXIT WHEN FOUND;
  END LOOP;

  IF v_attempt IS NOT NULL THEN
    IF v_sending IS NOT NULL AND v.kind <> 'cancel' AND NOT public.try_sending() THEN
      v_sending := NULL;
    ELSIF v_sending IS NOT NULL AND public.sending_objection(v) IS NOT NULL THEN
      v_sending := NULL;
    END IF;
    INSERT INTO public.attempts (attempt_id, command_id, number, state, epoch, prepared_at, sending_at)
    VALUES (v_attempt, v_id, 1, CASE WHEN v_sending IS NULL THEN 'prepared' ELSE 'sending' END, p_epoch, v_at, v_sending);
  END IF;
  PERFORM public.append_evidence(v_id, json_build_array(json_build_object('kind', 'note',
    'code', CASE WHEN v_attempt IS NULL THEN 'refused' WHEN v_sending IS NULL THEN 'prepared' ELSE 'sending' END,
    'detail', coalesce(p -> 'refusal', '{}'), 'attemptId', v_attempt, 'atMs', coalesce(public.time_to_ms(v_sending), (p ->> 'atMs')::double precision))));
  RETURN json_build_object('kind', 'opened', 'command', public.tell_step(v_id));
END
$$;

-- Why this command may not be sent any more, as it is now: a Reason. Null: it may. Takes the shared lock of `close_sending` first, to the end of the transaction, so
-- that each of these statements, with a snapshot of its own, sees whatever was committed before. Nothing forbids a cancel.
CREATE FUNCTION public.sending_objection(c public.commands) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_cause text;
  v_why text;
BEGIN
  IF c.kind = 'cancel' THEN
    RETURN NULL;
  END IF;
  PERFORM pg_advisory_xact_lock_shared(hashtext('tidemark sending'), 0);
  SELECT cause, reason INTO v_cause, v_why FROM public.halts
  WHERE cleared_at IS NULL AND coalesce(account_id, '') IN ('', c.account_id) ORDER BY since, halt_id LIMIT 1;
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

-- PREPARED → SENDING. True: done. False: another process holds the shard now, or the attempt is not prepared any more. An object: the Reason why it may not be
-- sent. In the last two cases nothing was written.
CREATE FUNCTION public.mark_sending(p_shard integer, p_epoch bigint, p_attempt_id text, p_at_ms double precision) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_command_id uuid;
  v public.commands;
  v_objection json;
BEGIN
  IF NOT public.hold_command_fence(p_shard, p_epoch) THEN
    RETURN 'false';
  END IF;
  -- One table in each statement, by its key: the plan of a join, made while the tables were empty, would be kept.
  SELECT command_id INTO v_command_id FROM public.attempts WHERE attempt_id = p_attempt_id;
  SELECT * INTO v FROM public.commands WHERE command_id = v_command_id AND state = 'open' FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN 'false';
  END IF;
  v_objection := public.sending_objection(v);
  IF v_objection IS NOT NULL THEN
    RETURN v_objection;
  END IF;
  UPDATE public.attempts SET state = 'sending', sending_at = public.ms_to_time(p_at_ms)
  WHERE attempt_id = p_attempt_id AND state = 'prepared' AND epoch = p_epoch;
  IF NOT FOUND THEN
    RETURN 'false';
  END IF;
  PERFORM public.append_evidence(v_command_id, json_build_array(json_build_object('kind', 'note', 'code', 'sending', 'detail', json_build_object(),
    'attemptId', p_attempt_id, 'atMs', p_at_ms)));
  RETURN 'true';
END
$$;

-- One step by compare-and-set on the version (and on the attempt's state, which `mark_sending` changes without a version). `p` is a CommandStep. The halts that it causes are
-- raised in its transaction, and answered with it.
CREATE FUNCTION public.step_command(p_shard integer, p_epoch bigint, p json) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v public.commands;
  v_id uuid := p ->> 'commandId';
  v_to text := p ->> 'to';
  v_at timestamptz := public.ms_to_time((p ->> 'atMs')::double precision);
  v_attempt json := p -> 'attempt';
  v_stepped json;
  v_halts json[];
BEGIN
  IF NOT public.hold_command_fence(p_shard, p_epoch) THEN
    RETURN json_build_object('kind', 'fenced');
  END IF;
  SELECT * INTO v FROM public.commands WHERE command_id = v_id AND shard = p_shard FOR NO KEY UPDATE;
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
    resolved_at = CASE WHEN v_to IN ('refused', 'not_sent', 'applied', 'rejected', 'moot') THEN coalesce(resolved_at, v_at) END
  WHERE command_id = v_id;
  IF p ->> 'nextAttemptId' IS NOT NULL THEN
    IF v_to <> 'open' THEN
      RAISE EXCEPTION 'command % becomes % and prepares another attempt', v_id, v_to USING ERRCODE = 'TM010';
    END IF;
    INSERT INTO public.attempts (attempt_id, command_id, number, state, epoch, prepared_at)
    SELECT p ->> 'nextAttemptId', v_id, max(number) + 1, 'prepared', p_epoch, v_at FROM public.attempts WHERE command_id = v_id;
  END IF;
  PERFORM public.append_evidence(v_id, p -> 'evidence');
  v_stepped := public.tell_step(v_id);
  IF v_to IN ('unknown', 'conflict') AND v.state NOT IN ('unknown', 'conflict') AND p -> 'haltAt' IS NOT NULL THEN
    v_halts := public.halt_doubtful(ARRAY[v.account_id], p -> 'haltAt', (p ->> 'atMs')::double precision);
  END IF;
  IF p ->> 'lateLanding' IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock(hashtext('tidemark doubtful'), 0);
    v_halts := array_append(v_halts, public.halt_json(public.raise_halt(gen_random_uuid()::text, v.account_id, 'late_landing', p ->> 'lateLanding', 'tidemark',
      (p ->> 'atMs')::double precision)));
  END IF;
  RETURN json_build_object('kind', 'stepped', 'command', v_stepped, 'halts', array_to_json(v_halts));
END
$$;

-- What one complete read did not show, under the fence: a miss counts where the command is still unknown, at the version by which the read was judged. `p` is Miss[].
-- {kind, noted: {commandId, misses}[], moved: the others as they are now}, without a whole command for what only counted.
CREATE FUNCTION public.note_misses(p_shard integer, p_epoch bigint, p json) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_noted json;
  v_moved json;
  v_found integer;
BEGIN
  IF NOT public.hold_command_fence(p_shard, p_epoch) THEN
    RETURN json_build_object('kind', 'fenced');
  END IF;
  -- Locked by a statement of its own: what follows sees the newest evidence of each, and numbers its own behind it.
  PERFORM FROM public.commands c JOIN json_to_recordset(p) AS m("commandId" uuid) ON c.command_id = m."commandId"
  WHERE c.shard = p_shard ORDER BY c.command_id FOR NO KEY UPDATE OF c;
  GET DIAGNOSTICS v_found = ROW_COUNT;
  IF v_found < json_array_length(p) THEN
    RAISE EXCEPTION 'a command that was missed is not there' USING ERRCODE = 'TM012';
  END IF;
  WITH miss AS MATERIALIZED (
    SELECT * FROM json_to_recordset(p) AS m("commandId" uuid, version integer, evidence json)
  ), counted AS (
    UPDATE public.commands c SET misses = c.misses + 1 FROM miss m
    WHERE c.command_id = m."commandId" AND c.version = m.version AND c.state = 'unknown'
    RETURNING c.command_id, c.misses, m.evidence
  ), told AS (
    INSERT INTO public.evidence (command_id, number, kind, code, detail, attempt_id, at)
    SELECT c.command_id, (SELECT coalesce(max(e.number), 0) + 1 FROM public.evidence e WHERE e.command_id = c.command_id),
      c.evidence ->> 'kind', c.evidence ->> 'code', c.evidence -> 'detail', c.evidence ->> 'attemptId', public.ms_to_time((c.evidence ->> 'atMs')::double precision)
    FROM counted c
  )
  SELECT coalesce(json_agg(json_build_object('commandId', command_id, 'misses', misses)), '[]') INTO v_noted FROM counted;
  SELECT coalesce(json_agg(public.command_json(c)), '[]') INTO v_moved FROM public.commands c, json_to_recordset(p) AS m("commandId" uuid)
  WHERE c.command_id = m."commandId" AND NOT EXISTS (SELECT FROM json_to_recordset(v_noted) AS n("commandId" uuid) WHERE n."commandId" = c.command_id);
  RETURN json_build_object('kind', 'noted', 'noted', v_noted, 'moved', v_moved);
END
$$;

-- The taking of the shard has shut the former holder out; this waits for its last transactions. Then sweeps the attempts that it left: one that was
-- SENDING may have been written, one that was PREPARED was not. What it makes unknown counts for halts at once, by `p_halt_at` (see `halt_doubtful`). Returns how many
-- commands it swept: those that were under way, so a few hundred at most. Called again under the same epoch it sweeps nothing that this epoch prepared.
CREATE FUNCTION public.take_over_commands(p_shard integer, p_epoch bigint, p_at_ms double precision, p_halt_at json) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v public.commands;
  v_last public.attempts;
  v_was text;
  v_swept integer := 0;
  v_doubtful text[] := '{}';
  v_at timestamptz := public.ms_to_time(p_at_ms);
  v_reason json := json_build_object('code', 'TAKEN_OVER', 'message', 'the process that had it in hand is gone');
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('tidemark fence'), p_shard);
  PERFORM FROM public.shards s WHERE s.shard = p_shard AND s.epoch = p_epoch;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'shard % has another epoch than %', p_shard, p_epoch USING ERRCODE = 'TM011';
  END IF;

  FOR v IN
    SELECT * FROM public.commands c
    WHERE c.shard = p_shard AND c.command_id IN (
      SELECT command_id FROM public.attempts WHERE in_flight AND epoch < p_epoch
      UNION SELECT command_id FROM public.commands WHERE resolved_at IS NULL AND state = 'open')
    ORDER BY c.created_at, c.command_id FOR NO KEY UPDATE
  LOOP
    SELECT * INTO v_last FROM public.attempts a WHERE a.command_id = v.command_id ORDER BY a.number DESC LIMIT 1;
    CONTINUE WHEN v_last.epoch >= p_epoch;
    v_was := v_last.state;
    IF v_was IN ('prepared', 'sending') THEN
      UPDATE public.attempts SET state = CASE v_was WHEN 'sending' THEN 'unknown' ELSE 'not_sent' END, answered_at = v_at, reason = v_reason
      WHERE attempt_id = v_last.attempt_id RETURNING state INTO v_last.state;
    END IF;
    -- A command that was resolved before its answer came keeps its outcome; only its attempt changes.
    UPDATE public.commands c SET
      state = CASE c.state WHEN 'open' THEN v_last.state ELSE c.state END,
      reason = CASE c.state WHEN 'open' THEN v_reason ELSE c.reason END,
      resolved_at = CASE WHEN c.state = 'open' AND v_last.state IN ('not_sent', 'refused', 'rejected') THEN v_at ELSE c.resolved_at END,
      version = c.version + 1, updated_at = v_at
    WHERE c.command_id = v.command_id;
    PERFORM public.append_evidence(v.command_id, json_build_array(json_build_object('kind', 'note', 'code', 'taken_over',
      'detail', json_build_object('epoch', p_epoch::text, 'was', v_was), 'attemptId', v_last.attempt_id, 'atMs', p_at_ms)));
    PERFORM public.tell_step(v.command_id);
    v_swept := v_swept + 1;
    IF v.state = 'open' AND v_last.state = 'unknown' AND v.account_id <> ALL (v_doubtful) THEN
      v_doubtful := array_append(v_doubtful, v.account_id);
    END IF;
  END LOOP;
  IF v_doubtful <> '{}' AND p_halt_at IS NOT NULL THEN
    PERFORM public.halt_doubtful(v_doubtful, p_halt_at, p_at_ms);
  END IF;
  RETURN v_swept;
END
$$;

-- Lines of the audit trail, in this order. `p` is {lines: AuditTrailEntry[], again} (store/commands/command-journal.ts). `again`: without those already there.
CREATE FUNCTION public.add_audit_lines(p json) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO public.audit_log (at, principal, action, account_id, command_id, request_id, reason, detail)
  SELECT public.ms_to_time((e ->> 'atMs')::double precision), e ->> 'principal', e ->> 'action', e ->> 'accountId', e ->> 'commandId', e ->> 'requestId',
    e ->> 'reason', e -> 'detail'
  FROM json_array_elements(p -> 'lines') WITH ORDINALITY AS line(e, place)
  WHERE NOT (p ->> 'again')::boolean OR NOT EXISTS (
    SELECT FROM public.audit_log a WHERE a.at = public.ms_to_time((e ->> 'atMs')::double precision)
      AND a.principal = e ->> 'principal' AND a.action = e ->> 'action' AND a.account_id IS NOT DISTINCT FROM e ->> 'accountId'
      AND a.command_id IS NOT DISTINCT FROM e ->> 'commandId' AND a.request_id IS NOT DISTINCT FROM e ->> 'requestId')
  ORDER BY place;
END
$$;

-- ----- Many writes in one transaction -----

-- One write of the journal, by the name of its function.
CREATE FUNCTION public.write_one(p_name text, p_shard integer, p_epoch bigint, p json) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  CASE p_name
    WHEN 'open_command' THEN RETURN public.open_command(p_shard, p_epoch, p);
    WHEN 'mark_sending' THEN RETURN public.mark_sending(p_shard, p_epoch, p ->> 'attemptId', (p ->> 'atMs')::double precision);
    WHEN 'step_command' THEN RETURN public.step_command(p_shard, p_epoch, p);
    WHEN 'note_misses' THEN RETURN public.note_misses(p_shard, p_epoch, p);
    WHEN 'add_command_evidence' THEN PERFORM public.add_command_evidence((p ->> 'commandId')::uuid, p -> 'evidence');
    WHEN 'add_audit_lines' THEN PERFORM public.add_audit_lines(p);
    -- By all three: a database that lost commits gives numbers out again.
    WHEN 'mark_published' THEN DELETE FROM public.command_outbox o USING json_array_elements(p) AS m(step)
      WHERE o.id = (m.step ->> 0)::bigint AND o.command_id = (m.step ->> 1)::uuid AND o.version = (m.step ->> 2)::integer;
  END CASE;
  RETURN NULL;
END
$$;

-- Writes of the journal, one after the other: each sees what those before it wrote, and all are durable by one commit. A row for each, in order: what it answered, or
-- the SQLSTATE and the text of what it raised. That undoes this write and no other.
-- Writes without a row were not begun: after 100 ms the rest is left for the next group. A lock that another session holds is waited for as long, so that one write
-- which waits, or is slow, holds up the others for a bounded time (docs/decisions/073-writes-of-commands-share-a-commit.md). A mark for which a stop would have to be
-- waited for is refused as by that timeout, at once, and so is a step to doubt beside another one: its caller asks for it alone.
CREATE FUNCTION public.write_group(p_names text[], p_shards bigint[], p_epochs bigint[], p_bodies json[], OUT result json, OUT code text, OUT message text) RETURNS SETOF record
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '100ms' AS $$
DECLARE
  v_until timestamptz := clock_timestamp() + interval '100 ms';
BEGIN
  -- A mark that is lost in a crash of the server costs a repeat, and the topic may contain repeats: alone it waits for no disk.
  IF 'mark_published' = ALL (p_names) THEN
    PERFORM set_config('synchronous_commit', 'off', true);
  END IF;
  FOR i IN 1 .. cardinality(p_names) LOOP
    EXIT WHEN i > 1 AND clock_timestamp() > v_until;
    result := NULL;
    code := NULL;
    message := NULL;
    BEGIN
      IF p_names[i] = 'mark_sending' AND NOT public.try_sending() THEN
        RAISE lock_not_available USING MESSAGE = 'what forbids to send is being written';
      ELSIF coalesce(p_bodies[i] ->> 'haltAt', p_bodies[i] ->> 'lateLanding') IS NOT NULL AND NOT pg_try_advisory_xact_lock(hashtext('tidemark doubtful'), 0) THEN
        RAISE lock_not_available USING MESSAGE = 'another step that may halt is being written';
      END IF;
      result := public.write_one(p_names[i], p_shards[i]::integer, p_epochs[i], p_bodies[i]);
    EXCEPTION WHEN OTHERS THEN
      code := SQLSTATE;
      message := SQLERRM;
    END;
    RETURN NEXT;
  END LOOP;
END
$$;
