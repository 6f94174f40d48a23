-- ----- After commits were lost -----

-- The database is an older copy of itself. Consumers have the later updates, under revisions that will now be given again.
-- * Every lane gets a generation above its own and at least p_least, which its next holder puts above every revision; its epoch rises, so that its holder now
--   is fenced and begins a term under the new one. A lane that no row knows (the copy is empty) is founded.
-- * The log's numbers jump, those of the steps of commands, and those of the audit trail: an id that was given out and lost is never given again.
-- * The state topic may be ahead of the copy, and cannot bear an older state: its writer goes on behind what the copy holds.
-- * An attempt that was only prepared when the copy was made may have been sent since: it counts as sent, so that the next holder resolves it.
-- * Commands made since are not in the journal, nor their idempotency keys: nothing may be placed until a person has looked.
-- * What a lane has committed since Kafka could be asked for it is on no topic. Kafka may have its revisions with other content, so these rows go out under the new
--   generation, without proofs, which are sums of the old texts. In every lane: its holder may be alive and not have asked yet, or dead. Their newest states are newer
--   than those on the state topic.
CREATE FUNCTION public.begin_generation(p_lane integer, p_least integer, p_halt_id text, p_cause text, p_reason text, p_by text,
  OUT generation integer, OUT attempts integer)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_seq bigint;
  v_lane integer;
  v_base bigint;
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
  SELECT greatest((last_value >> 40) + 1, begin_generation.generation) << 40 INTO v_base FROM public.event_numbers;
  PERFORM setval('public.event_numbers', v_base + (1::bigint << 39));
  PERFORM setval('public.audit_log_id_seq', last_value + 1000000000) FROM public.audit_log_id_seq;
  INSERT INTO public.relay_positions AS p (lane, cursor, seq) SELECT l.lane, 'state', v_seq FROM public.lanes l
  ON CONFLICT (lane, cursor) DO UPDATE SET seq = greatest(p.seq, excluded.seq), saved_at = now();
  FOR v_lane, v_seq IN
    -- From the lane's end, where its batches are in the order of their numbers: the log behind them is never read.
    SELECT l.lane, coalesce((SELECT u.seq FROM public.order_updates u WHERE u.lane = l.lane AND u.batch <= l.unpublished_after ORDER BY u.seq DESC LIMIT 1), 0)
    FROM public.lanes l WHERE l.unpublished_after IS NOT NULL
  LOOP
    UPDATE public.order_updates u SET payload = CASE u.stream
      WHEN 'watermarks' THEN regexp_replace(u.payload, ',"proof":\{[^}]*\}', '')
      ELSE regexp_replace(u.payload, '"generation":\d+', '"generation":' || begin_generation.generation) END
    WHERE u.lane = v_lane AND u.seq > v_seq;
    UPDATE public.relay_positions p SET seq = v_seq WHERE p.lane = v_lane AND p.cursor = 'state';
  END LOOP;

  INSERT INTO public.journal (shard, epoch, seq, command_id, number, version, kind, from_state, state, attempt, attempt_from, attempt_state, order_id, at, body)
  SELECT j.shard, j.epoch, v_base + row_number() OVER (), j.command_id, j.number + 1, j.version, 'mark', j.state, j.state, a.number, 'prepared', 'sending', j.order_id, a.at,
    jsonb_set(jsonb_build_object('updatedAtMs', public.time_to_ms(j.at)) || j.body::jsonb - 'evidence' - 'request' - 'requestHash' - 'baseline' - 'deadlineAtMs', ARRAY['attempts', (a.number - 1)::text],
      jsonb_set(jsonb_set(a.was, '{0}', '"sending"'), '{1}', to_jsonb(public.time_to_ms(a.at))))
  FROM public.open_commands w CROSS JOIN LATERAL (SELECT * FROM public.journal j WHERE j.command_id = w.command_id ORDER BY j.number DESC LIMIT 1) j
  CROSS JOIN LATERAL (SELECT jsonb_array_length(j.body::jsonb -> 'attempts') AS number, j.body::jsonb -> 'attempts' -> -1 AS was, clock_timestamp() AS at) a
  WHERE j.state = 'open' AND a.was ->> 0 = 'prepared';
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

-- True: the database lacks one of these acts that a process has seen acknowledged (an array of `Act`, runtime/lease.ts). Rows of the journal, halts, cancel-alls,
-- timers, tokens and the audit trail are never deleted, versions and counts never fall, and the end of a token is only ever moved forward in time. A kind that this build
-- does not know is not missing.
CREATE FUNCTION public.lacks_acts(p_acts json) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT EXISTS (
    SELECT FROM json_array_elements(p_acts) AS each(act), LATERAL (SELECT act ->> 1 AS id) AS of
    WHERE NOT CASE act ->> 0
      WHEN 'step' THEN EXISTS (SELECT FROM public.commands c WHERE c.command_id = of.id::uuid AND (c.version > (act ->> 2)::integer
        -- A lost version may have been given again.
        OR c.version = (act ->> 2)::integer AND public.time_to_ms(c.updated_at) = (act ->> 3)::bigint))
      WHEN 'sent' THEN EXISTS (SELECT FROM public.attempts a WHERE a.attempt_id = of.id AND a.sending_at IS NOT NULL)
      WHEN 'halt' THEN EXISTS (SELECT FROM public.halts h WHERE h.halt_id = of.id)
      WHEN 'resume' THEN EXISTS (SELECT FROM public.halts h WHERE h.halt_id = of.id AND h.cleared_at IS NOT NULL)
      WHEN 'cancel_all' THEN EXISTS (SELECT FROM public.cancel_alls a WHERE a.cancel_all_id = of.id::uuid)
      WHEN 'line' THEN EXISTS (SELECT FROM public.audit_log a WHERE a.id = of.id::bigint AND public.time_to_ms(a.at) = (act ->> 2)::bigint)
      WHEN 'timer' THEN EXISTS (SELECT FROM public.cancel_timers t WHERE t.shard = of.id::integer AND t.principal = act ->> 2 AND t.account_id = act ->> 3
        AND t.changes >= (act ->> 4)::integer)
      -- By the clock of the process, which may be behind. A token that lasts no longer than this hour is not worth a halt.
      WHEN 'token_end' THEN EXISTS (SELECT FROM public.principal_tokens t WHERE t.principal = of.id AND t.number = (act ->> 2)::integer
        AND t.expires_at <= public.ms_to_time((act ->> 3)::double precision) + interval '1 hour')
      ELSE true
    END)
$$;

-- True: the database lacks commits that processes have seen (an array of `LaneCheckpoint`, runtime/lease.ts): their own memory, or what Kafka has of each lane. Epochs and
-- batch numbers never fall within a generation. A higher generation than that of the checkpoint means that the loss was noticed before. A lane's row that is gone is lost,
-- unless the other lanes have a higher one.
CREATE FUNCTION public.lacks_commits(p_seen json) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT EXISTS (
    SELECT FROM json_to_recordset(p_seen) AS s(lane integer, generation integer, epoch bigint, batch bigint, acts json)
    LEFT JOIN public.lanes l USING (lane)
    CROSS JOIN LATERAL (SELECT coalesce(l.generation, (SELECT max(generation) FROM public.lanes), 1) AS generation) AS now
    WHERE s.generation > now.generation OR s.generation = now.generation AND (
      coalesce(l.epoch, 0) < s.epoch OR coalesce(public.lane_batch(s.lane), 0) < s.batch OR public.lacks_acts(s.acts)))
$$;

-- Begins a generation where the database lacks what processes have seen of these lanes (as in `lacks_commits`). In one transaction and once: a second process that notices
-- finds it done. Returns the new generation; null: nothing is missing. p_epoch: the lane's holder has asked Kafka, and publishes from here on where nothing is missing. TM001
-- where its epoch is lost by then: another process may have begun a generation, and its rows in memory are still of the one before.
CREATE FUNCTION public.notice_loss(p_lane integer, p_seen json, p_halt_id text, p_by text, p_epoch bigint) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  -- A standby asks every second, so the rows are locked only if something is missing, and are then looked at again.
  FOR v_look IN 1..2 LOOP
    -- By its number alone a lost commit is not missed once others have it. But Kafka has none above unpublished_after.
    IF NOT public.lacks_commits(p_seen) AND (p_epoch IS NULL OR NOT EXISTS (
      SELECT FROM json_to_recordset(p_seen) AS s(lane integer, generation integer, batch bigint) JOIN public.lanes l USING (lane)
      WHERE s.generation = l.generation AND s.batch > l.unpublished_after)) THEN
      UPDATE public.lanes l SET unpublished_after = NULL WHERE l.lane = p_lane AND l.epoch = p_epoch AND l.unpublished_after IS NOT NULL;
      IF NOT FOUND AND p_epoch IS NOT NULL AND NOT EXISTS (SELECT FROM public.lanes l WHERE l.lane = p_lane AND l.epoch = p_epoch) THEN
        RAISE EXCEPTION 'lane % is not at epoch % any more', p_lane, p_epoch USING ERRCODE = 'TM001';
      END IF;
      RETURN NULL;
    END IF;
    LOCK TABLE public.lanes IN SHARE ROW EXCLUSIVE MODE;
  END LOOP;
  RETURN (SELECT g.generation FROM public.begin_generation(p_lane,
    (SELECT max(s.generation) FROM json_to_recordset(p_seen) AS s(generation integer)) + 1,
    p_halt_id, 'commits_lost',
    'the database came back without commits that it had acknowledged: commands may be missing from the journal', p_by) AS g);
END
$$;
