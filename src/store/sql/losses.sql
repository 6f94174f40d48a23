-- ----- After commits were lost -----

-- The database is an older copy of itself. Consumers have the later updates, under revisions that will now be given again.
-- * Every lane gets a generation above its own and at least p_least, which its next holder puts above every revision; its epoch rises, so that its holder now
--   is fenced and begins a term under the new one. A lane that no row knows (the copy is empty) is founded.
-- * The log's numbers jump, those of the steps of commands, and those of the audit trail: an id that was given out and lost is never given again.
-- * The state topic may be ahead of the copy, and cannot bear an older state: its writer goes on behind what the copy holds.
-- * An attempt that was only prepared when the copy was made may have been sent since: it counts as sent, so that the next holder settles it.
-- * Commands made since are not in the journal, nor their idempotency keys: nothing may be placed until a person has looked.
CREATE FUNCTION public.begin_generation(p_lane integer, p_least integer, p_halt_id text, p_cause text, p_reason text, p_by text,
  OUT generation integer, OUT attempts integer)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_seq bigint;
BEGIN
  -- A lane that is made meanwhile would keep the old generation.
  LOCK TABLE public.lanes IN SHARE ROW EXCLUSIVE MODE;
  PERFORM public.close_sending();
  INSERT INTO public.lanes (lane, holder, epoch, renewed_at) VALUES (p_lane, NULL, 1, clock_timestamp()) ON CONFLICT DO NOTHING;
  -- Each row lock waits for the batch that has it, and keeps the next one out.
  PERFORM FROM public.lanes ORDER BY lane FOR UPDATE;
  SELECT greatest(max(l.generation) + 1, p_least) INTO begin_generation.generation FROM public.lanes l;
  UPDATE public.lanes l SET generation = begin_generation.generation, epoch = l.epoch + 1, holder = NULL;

  -- A thousand million: more than a day of the highest rate measured.
  SELECT setval('public.order_updates_seq', last_value + 1000000000) INTO v_seq FROM public.order_updates_seq;
  -- Events of before have lower numbers than the generation's first: see `readEvents`.
  PERFORM setval('public.command_events_id_seq', greatest((last_value >> 40) + 1, begin_generation.generation) << 40) FROM public.command_events_id_seq;
  PERFORM setval('public.audit_log_id_seq', last_value + 1000000000) FROM public.audit_log_id_seq;
  INSERT INTO public.relay_positions AS p (lane, cursor, seq) SELECT l.lane, 'state', v_seq FROM public.lanes l
  ON CONFLICT (lane, cursor) DO UPDATE SET seq = greatest(p.seq, excluded.seq), saved_at = now();

  UPDATE public.attempts SET state = 'sending', sending_at = clock_timestamp() WHERE in_flight AND state = 'prepared';
  GET DIAGNOSTICS attempts = ROW_COUNT;
  INSERT INTO public.halts (halt_id, account_id, cause, reason, raised_by, since)
  VALUES (p_halt_id, NULL, p_cause, p_reason, p_by, clock_timestamp())
  ON CONFLICT (coalesce(account_id, ''), cause) WHERE cleared_at IS NULL DO NOTHING;
  -- Those who asked for a resume knew nothing of the loss: see `raise_halt`.
  UPDATE public.approvals SET expires_at = to_timestamp(0)
  WHERE approved_at IS NULL AND expires_at > to_timestamp(0) AND action ->> 'kind' = 'resume' AND account_id IS NULL;
END
$$;

-- Asked for by a person, as the owner of the tables only.
CREATE FUNCTION public.after_restore(p_lane integer, p_least integer, p_halt_id text, p_by text, OUT generation integer, OUT attempts integer)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT * FROM public.begin_generation(p_lane, p_least, p_halt_id, 'operator',
    'the database was restored: commands made since the copy are not in the journal', p_by)
$$;

-- True: the database lacks a step of a command, a mark of an attempt, or a stop that a process has seen (p_seen, a `Witnessed` of runtime/lease.ts). Rows of commands, halts,
-- cancel-alls, tokens and the audit trail are never deleted, versions and counts never fall, and the end of a token is only ever moved forward in time.
CREATE FUNCTION public.lacks_actions(p_seen json) RETURNS boolean
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

-- True: the database lacks commits that a process has seen (p_seen, a `Witnessed` of runtime/lease.ts). Epochs, batch numbers and versions never fall, and commands
-- are never deleted, so each of them is a proof. A higher generation than the process knew means that the loss was noticed before.
CREATE FUNCTION public.lacks_commits(p_lane integer, p_seen json) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT p_seen IS NOT NULL AND NOT EXISTS (
    SELECT FROM public.lanes l
    WHERE l.lane = p_lane AND l.generation >= (p_seen ->> 'generation')::integer
      AND (l.generation > (p_seen ->> 'generation')::integer OR (
        l.epoch >= (p_seen ->> 'epoch')::bigint AND public.lane_batch(l.lane) >= (p_seen ->> 'batch')::bigint
        AND NOT public.lacks_actions(p_seen))))
$$;

-- How many of these updates, which Kafka has, come from no commit of this database: with a generation above the lanes', a revision above the order's own, or another text
-- under a revision of the log. Updates of a lower generation than the lanes' come from before a loss that is known.
CREATE FUNCTION public.count_lacking_updates(u_stream text[], u_order_id text[], u_generation integer[], u_revision bigint[], u_payload text[]) RETURNS bigint
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT count(*)
  FROM unnest(u_stream, u_order_id, u_generation, u_revision, u_payload) AS u(stream, order_id, generation, revision, payload)
  CROSS JOIN (SELECT coalesce(max(l.generation), 1) AS generation FROM public.lanes l) AS now
  LEFT JOIN public.orders o USING (stream, order_id)
  WHERE u.generation > now.generation
    OR u.generation = now.generation AND (coalesce(o.revision, 0) < u.revision OR EXISTS (
      SELECT FROM public.order_chain(u.stream, u.order_id, u.revision - 1) c JOIN public.order_updates l ON l.lane = c.lane AND l.seq = c.seq
      WHERE c.revision = u.revision AND l.payload <> u.payload))
$$;

-- How many of these batches, each of which Kafka has a mark or a witness of (p_batches: lane, generation and number, and what else the process had seen, as in lacks_commits),
-- this database lacks. Updates alone would not do: others may have written behind them, and lost commits without updates have numbers too. A row of a lane that is gone
-- is lost with it.
CREATE FUNCTION public.count_lacking_batches(p_batches json) RETURNS bigint
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

-- Begins a generation where the database lacks commits that a process saw, or that the newest updates and marks on Kafka show (null: not asked). In one transaction and once: a second
-- process that notices finds it done. Returns the new generation; null: nothing is missing. Where the caller could not ask Kafka before, it has published nothing of its lane above
-- batch p_unpublished_after: these rows may have revisions that Kafka has with other content, so they go out under the new generation, and without proofs, which are sums of the old texts.
CREATE FUNCTION public.notice_loss(p_lane integer, p_seen json,
  u_stream text[], u_order_id text[], u_generation integer[], u_revision bigint[], u_payload text[], p_batches json, p_halt_id text, p_by text, p_unpublished_after bigint DEFAULT NULL) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_generation integer;
  v_after bigint;
BEGIN
  -- A standby asks every second, so the rows are locked only if something is missing, and are then looked at again.
  FOR v_look IN 1..2 LOOP
    IF NOT public.lacks_commits(p_lane, p_seen)
      AND public.count_lacking_updates(u_stream, u_order_id, u_generation, u_revision, u_payload) = 0
      AND public.count_lacking_batches(p_batches) = 0 THEN
      RETURN NULL;
    END IF;
    LOCK TABLE public.lanes IN SHARE ROW EXCLUSIVE MODE;
  END LOOP;
  SELECT g.generation INTO v_generation FROM public.begin_generation(p_lane,
    greatest((SELECT max(u) FROM unnest(u_generation) AS u), (SELECT max(b.generation) FROM json_to_recordset(p_batches) AS b(generation integer))) + 1,
    p_halt_id, 'commits_lost',
    'the database came back without commits that it had acknowledged: commands may be missing from the journal', p_by) AS g;
  IF p_unpublished_after IS NOT NULL THEN
    -- From the lane's end, where its batches are in the order of their numbers: the log behind them is never read.
    v_after := coalesce((SELECT u.seq FROM public.order_updates u WHERE u.lane = p_lane AND u.batch <= p_unpublished_after ORDER BY u.seq DESC LIMIT 1), 0);
    UPDATE public.order_updates u SET payload = CASE u.stream
      WHEN 'continuity' THEN regexp_replace(u.payload, ',"proof":\{[^}]*\}', '')
      ELSE regexp_replace(u.payload, '"generation":\d+', '"generation":' || v_generation) END
    WHERE u.lane = p_lane AND u.seq > v_after;
    -- The newest states among them are newer than those on the state topic.
    UPDATE public.relay_positions p SET seq = v_after WHERE p.lane = p_lane AND p.cursor = 'state';
  END IF;
  RETURN v_generation;
END
$$;
