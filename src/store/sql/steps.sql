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

-- `p` is a JudgedCommand whose reference may be used once, and another command of its principal has it.
CREATE FUNCTION public.uses_reference_again(p json) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN (p ->> 'callerRefOnce')::boolean IS TRUE
    AND EXISTS (SELECT FROM public.journal WHERE caller_ref = p ->> 'callerRef' AND principal = p ->> 'principal');
END
$$;

-- Whether `p`, a JudgedCommand, may take the place of the command that it names: it is presumed absent, or a replace that has been in conflict for long, and has no successor.
CREATE FUNCTION public.may_supersede(p json) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN EXISTS (SELECT FROM public.commands c WHERE c.command_id = (p ->> 'supersedes')::uuid
    AND c.kind = p -> 'request' ->> 'kind' AND c.account_id = p -> 'request' ->> 'accountId'
    AND (c.state = 'unknown' AND c.presumed_absent OR c.state = 'conflict' AND c.kind = 'replace'
      AND c.created_at <= public.ms_to_time((p ->> 'atMs')::double precision) - interval '10 minutes')
    AND NOT (c.kind = 'place' AND public.is_superseded(c.command_id)));
END
$$;

-- What an opening would be answered just now, all of it at once: a JournalPreview (store/commands/command-journal.ts). It locks nothing.
CREATE FUNCTION public.preview_command(p json) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  -- The server itself refuses a write from here on, to the end of the transaction.
  PERFORM set_config('transaction_read_only', 'on', true);
  RETURN json_build_object('callerRefReused', public.uses_reference_again(p),
    'notSuperseded', p ->> 'supersedes' IS NOT NULL AND NOT public.may_supersede(p),
    'limits', (SELECT coalesce(json_agg(w), '[]') FROM public.weigh_limits(p, true) AS w));
END
$$;

-- What forbids an opening, before its limits: `replayed`, `key_reused`, `caller_ref_reused`, `not_superseded`; null: nothing does. `p` is a NewCommand. A key whose command has
-- been final for seven days is given up here.
CREATE FUNCTION public.opening_objection(p json) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v public.journal;
BEGIN
  -- Locked before they are looked at: the second of two at once waits here and then sees the first.
  IF p ->> 'supersedes' IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock(hashtext('tidemark supersedes'), hashtext(p ->> 'supersedes'));
  END IF;
  -- No unique index: the rule is a setting, and holds also for commands from before it was turned on.
  IF (p ->> 'callerRefOnce')::boolean THEN
    PERFORM pg_advisory_xact_lock(hashtextextended(json_build_array(p ->> 'principal', p ->> 'callerRef')::text, 0));
  END IF;
  SELECT * INTO v FROM public.journal j
  WHERE j.kind = 'opening' AND j.idempotency_key = p ->> 'idempotencyKey' AND j.principal = p ->> 'principal' AND (case when not j.key_held then j.command_id end) IS NULL;
  IF FOUND THEN
    -- A command that is not final keeps its key, however old: a caller that asks again must get its answer.
    IF (SELECT j.resolved_at > public.ms_to_time((p ->> 'atMs')::double precision) - interval '7 days' FROM public.journal j
        WHERE j.command_id = v.command_id ORDER BY j.number DESC LIMIT 1) IS NOT FALSE THEN
      RETURN CASE WHEN v.body::json ->> 'requestHash' = p ->> 'requestHash' THEN 'replayed' ELSE 'key_reused' END;
    END IF;
    UPDATE public.journal SET key_held = false WHERE command_id = v.command_id AND number = 1;
  END IF;
  IF public.uses_reference_again(p) THEN
    RETURN 'caller_ref_reused';
  END IF;
  RETURN CASE WHEN p ->> 'supersedes' IS NOT NULL AND NOT public.may_supersede(p) THEN 'not_superseded' END;
END
$$;

-- Why a place or a replace may not be sent any more, as it is now: a Reason. Null: it may. Takes the shared lock of `close_sending` first, to the end of the transaction, so
-- that each of these statements, with a snapshot of its own, sees whatever was committed before.
CREATE FUNCTION public.sending_objection(p_principal text, p_account_id text, p_token_number integer, p_limits_change bigint) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_cause text;
  v_why text;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(hashtext('tidemark sending'), 0);
  SELECT cause, reason INTO v_cause, v_why FROM public.halts
  WHERE cleared_at IS NULL AND coalesce(account_id, '') IN ('', p_account_id) ORDER BY since, halt_id LIMIT 1;
  IF FOUND THEN
    RETURN json_build_object('code', 'PLACING_HALTED', 'message', left(format('placing was halted (%s): %s', v_cause, v_why), 500));
  END IF;
  IF p_token_number IS NOT NULL AND NOT EXISTS (
    SELECT FROM public.principal_tokens t
    WHERE t.principal = p_principal AND t.number = p_token_number AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
  ) THEN
    RETURN json_build_object('code', 'TOKEN_ENDED', 'message', 'the token that asked for it was revoked, or has expired');
  END IF;
  IF EXISTS (
    SELECT FROM public.limits l WHERE l.change > p_limits_change
      AND (coalesce(l.principal, ''), coalesce(l.account_id, '')) IN (('', ''), ('', p_account_id), (p_principal, ''), (p_principal, p_account_id))
  ) THEN
    RETURN json_build_object('code', 'LIMITS_CHANGED', 'message', 'its limits were changed after it was judged by them: send it again, with a new key');
  END IF;
  RETURN NULL;
END
$$;

-- Appends rows to the journal (`JournalRow` of store/commands/journal-rows.ts), each of another command: one statement and one commit for what comes at one moment. Returns for
-- each, by its place, what became of it: `done`, or why it was not written. `fenced`: its shard has another holder. What forbids an opening (`opening_objection`; `replayed` with the
-- command in `more`), or `limited` with the breach. `held`: an opening may not begin as sending. `refused`: a mark may not be made, with the Reason. `again`: an opening of the same account stands before
-- it, and limits count that one. `alone`: a lock would be waited for. `stale`: the row before it is not there. Of a step, `more` has the halts that it raised; of an
-- opening, whether there are limits. Then the lines of the audit trail.
--
-- What two writers do at once to one number or one key is refused by an index, and fails the whole group: its writes are asked for again one by one.
CREATE FUNCTION public.append_journal(p_alone boolean, p_rows json, p_more json[], p_lines json[], OUT place integer, OUT said text, OUT order_status text, OUT more json)
RETURNS SETOF record
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET plan_cache_mode = 'force_generic_plan'
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v public.journal;
  v_rows public.journal[];
  v_done public.journal[];
  v_said text[];
  v_more json[];
  v_judged text[] := '{}';
  v_change bigint;
  v_may_send boolean;
  v_forbidden boolean;
  v_halts json[];
  m json;
  o public.journal;
  r record;
BEGIN
  IF NOT p_alone THEN
    PERFORM set_config('lock_timeout', '100ms', true);
  END IF;
  v.tx_id := pg_current_xact_id();
  v.recorded_at := now();
  v_rows := ARRAY(SELECT j FROM json_populate_recordset(v, p_rows) AS j);
  v_said := array_fill('done'::text, ARRAY[cardinality(v_rows)]);
  v_more := array_fill(NULL::json, ARRAY[cardinality(v_rows)]);
  FOR r IN SELECT DISTINCT j.shard, j.epoch FROM unnest(v_rows) AS j ORDER BY 1, 2 LOOP
    CONTINUE WHEN public.hold_command_fence(r.shard, r.epoch);
    FOR i IN 1 .. cardinality(v_rows) LOOP
      IF v_rows[i].shard = r.shard AND v_rows[i].epoch = r.epoch THEN
        v_said[i] := 'fenced';
      END IF;
    END LOOP;
  END LOOP;

  IF EXISTS (SELECT FROM unnest(v_rows) AS j WHERE j.kind = 'opening') THEN
    -- Read before they are judged: what is changed in between is noticed before it is sent.
    SELECT max(change) INTO v_change FROM public.limits;
    FOR i IN 1 .. cardinality(v_rows) LOOP
      v := v_rows[i];
      CONTINUE WHEN v.kind <> 'opening' OR v_said[i] <> 'done';
      v_rows[i].limits_change := coalesce(v_change, 0);
      v_said[i] := coalesce(public.opening_objection(p_more[i]), 'done');
      IF v_said[i] = 'replayed' THEN
        v_more[i] := (SELECT public.command_json(j.command_id) FROM public.journal j WHERE j.kind = 'opening' AND j.idempotency_key = v.idempotency_key
          AND j.principal = v.principal AND (case when not j.key_held then j.command_id end) IS NULL);
      END IF;
      CONTINUE WHEN v_said[i] <> 'done' OR v.state <> 'open' OR v.request_kind = 'cancel' OR v_change IS NULL AND p_more[i] ->> 'limitsRequired' IS NULL;
      IF v.account_id = ANY (v_judged) THEN
        v_said[i] := 'again';
        CONTINUE;
      END IF;
      v_judged := v_judged || v.account_id;
      v_more[i] := public.judge_limits(p_more[i]);
      IF v_more[i] IS NOT NULL THEN
        v_said[i] := 'limited';
      END IF;
    END LOOP;
  END IF;

  FOR i IN 1 .. cardinality(v_rows) LOOP
    CONTINUE WHEN v_said[i] <> 'done';
    v := v_rows[i];
    -- What its holder knew may have been lost here, and be of no row.
    IF v.kind <> 'opening' THEN
      SELECT * INTO o FROM public.journal j WHERE j.command_id = v.command_id AND j.number = v.number - 1;
      IF (o.state = v.from_state AND o.shard = v.shard AND o.version = v.version - (v.kind = 'step')::integer
        AND (v.attempt IS NULL OR o.body::json -> 'attempts' -> v.attempt - 1 ->> 0 = v.attempt_from)) IS NOT TRUE
      THEN
        v_said[i] := 'stale';
        CONTINUE;
      -- A replace may make another order in place of the one that it named.
      ELSIF o.order_id <> v.order_id AND NOT EXISTS (SELECT FROM public.journal a
        WHERE a.command_id = v.command_id AND a.number = 1 AND a.request_kind = 'replace' AND a.order_id = o.order_id) THEN
        RAISE EXCEPTION 'command % is about order %, and stays so', v.command_id, o.order_id USING ERRCODE = 'TM010';
      END IF;
    END IF;
    IF v.attempt_state = 'sending' AND v.request_kind <> 'cancel' THEN
      IF v_may_send IS NULL THEN
        v_may_send := p_alone AND v.kind = 'mark' OR public.try_sending();
        v_forbidden := v_may_send AND (EXISTS (SELECT FROM public.halts h WHERE h.cleared_at IS NULL) OR EXISTS (SELECT FROM public.limits l WHERE l.change > coalesce(v_change, 0)));
      END IF;
      IF v.kind = 'opening' THEN
        IF NOT v_may_send OR (v_forbidden OR v.token_number IS NOT NULL)
          AND public.sending_objection(v.principal, v.account_id, v.token_number, v.limits_change) IS NOT NULL
        THEN
          v_said[i] := 'held';
        END IF;
      ELSIF NOT v_may_send THEN
        v_said[i] := 'alone';
      ELSE
        SELECT * INTO o FROM public.journal j WHERE j.command_id = v.command_id AND j.number = 1;
        v_more[i] := public.sending_objection(o.principal, o.account_id, o.token_number, o.limits_change);
        IF v_more[i] IS NOT NULL THEN
          v_said[i] := 'refused';
        END IF;
      END IF;
    ELSIF v.kind = 'step' AND num_nonnulls(p_more[i] ->> 'haltAt', p_more[i] ->> 'lateLanding') > 0 AND NOT p_alone
      AND NOT pg_try_advisory_xact_lock(hashtext('tidemark doubtful'), 0)
    THEN
      v_said[i] := 'alone';
    END IF;
    CONTINUE WHEN v_said[i] <> 'done';
    IF v.order_id IS NOT NULL AND v.kind IN ('opening', 'step') THEN
      v.order_status := public.order_status_of(v.command_id, v.request_kind, v.stream, v.order_id, v.account_id, p_more[i] ->> 'incarnation');
      v_rows[i].order_status := v.order_status;
    END IF;
    IF v.kind <> 'opening' THEN
      v.request_kind := NULL;
      v.stream := NULL;
      v.account_id := NULL;
    END IF;
    v_done := v_done || v;
  END LOOP;
  INSERT INTO public.journal SELECT * FROM unnest(v_done);

  FOR i IN 1 .. cardinality(v_rows) LOOP
    v := v_rows[i];
    m := CASE WHEN v_said[i] = 'done' THEN p_more[i] END;
    IF m ->> 'standing' = 'gone' THEN
      DELETE FROM public.open_commands w WHERE w.account_id = v.account_id AND w.command_id = v.command_id;
    ELSIF m ->> 'standing' IS NOT NULL THEN
      INSERT INTO public.open_commands (account_id, command_id, shard, standing) VALUES (v.account_id, v.command_id, v.shard, m ->> 'standing')
      ON CONFLICT ON CONSTRAINT open_commands_pkey DO UPDATE SET standing = excluded.standing;
    END IF;
  END LOOP;

  FOR i IN 1 .. cardinality(v_rows) LOOP
    v := v_rows[i];
    m := CASE WHEN v_said[i] = 'done' THEN p_more[i] END;
    IF m IS NOT NULL AND v.kind = 'step' THEN
      v_halts := CASE WHEN m ->> 'haltAt' IS NOT NULL THEN public.halt_doubtful(ARRAY[v.account_id], m -> 'haltAt', public.time_to_ms(v.at)) END;
      IF m ->> 'lateLanding' IS NOT NULL THEN
        PERFORM pg_advisory_xact_lock(hashtext('tidemark doubtful'), 0);
        v_halts := array_append(v_halts, public.halt_json(public.raise_halt(gen_random_uuid()::text, v.account_id, 'late_landing', m ->> 'lateLanding', 'tidemark', public.time_to_ms(v.at))));
      END IF;
      v_more[i] := array_to_json(v_halts);
    ELSIF m IS NOT NULL AND v.kind = 'opening' THEN
      v_more[i] := to_json(v_change IS NOT NULL);
    END IF;
    place := i;
    said := v_said[i];
    order_status := v.order_status;
    more := v_more[i];
    RETURN NEXT;
  END LOOP;
  FOR i IN 1 .. cardinality(p_lines) LOOP
    PERFORM public.add_audit_lines(p_lines[i]);
  END LOOP;
END
$$;

-- The taking of the shard has shut the former holder out; this waits for its last transactions, after which none of its rows can come any more. Returns the shard's highest
-- number: the new holder goes on behind it, and sweeps what was under way (store/commands/take-over.ts).
CREATE FUNCTION public.take_over_commands(p_shard integer, p_epoch bigint) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('tidemark fence'), p_shard);
  PERFORM FROM public.shards s WHERE s.shard = p_shard AND s.epoch = p_epoch;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'shard % has another epoch than %', p_shard, p_epoch USING ERRCODE = 'TM011';
  END IF;
  INSERT INTO public.result_positions AS p (shard, seq, epoch) VALUES (p_shard, 0, p_epoch)
  ON CONFLICT (shard) DO UPDATE SET epoch = excluded.epoch;
  RETURN public.highest_number(p_shard);
END
$$;

-- A restored database gives no number again that the lost one may have given: those of a generation begin above all before.
CREATE FUNCTION public.highest_number(p_shard integer) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN greatest((SELECT j.seq FROM public.journal j WHERE j.shard = p_shard ORDER BY j.seq DESC LIMIT 1),
    (SELECT p.seq FROM public.result_positions p WHERE p.shard = p_shard), (SELECT last_value >> 40 << 40 FROM public.event_numbers), 0);
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
