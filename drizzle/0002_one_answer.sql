-- Each fact stands once. What changes for tables and rows is written by hand; the functions below the line are copied from src/store/sql.

-- A partition is dropped once no snapshot is from before its last move.
ALTER TABLE public.moved_states ADD COLUMN moved_by xid8 DEFAULT pg_current_xact_id() NOT NULL, ADD COLUMN moved_at timestamptz DEFAULT now() NOT NULL;
DROP FUNCTION public.lane_to_move(text, bigint);

-- ----- From here on as src/store/sql has it: functions, views and triggers that are new or changed, and all rights. Written by test/store/baseline.test.ts -----

CREATE OR REPLACE FUNCTION public.no_state(p_stream text, p_order_id text) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT FROM pg_inherits i WHERE i.inhparent = 'public.order_updates'::regclass AND pg_table_is_visible(i.inhrelid) IS NULL) THEN
    RAISE EXCEPTION 'the state of %:% has moved since this snapshot was taken', p_stream, p_order_id
      USING ERRCODE = '40001', HINT = 'Begin the transaction again.';
  END IF;
  RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION public.order_in(p_payload text) RETURNS json
LANGUAGE plpgsql IMMUTABLE STRICT SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v json;
BEGIN
  v := p_payload::json -> 'order';
  RETURN CASE json_typeof(v) WHEN 'object' THEN v END;
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
  RETURN NULL;
END
$$;

CREATE OR REPLACE VIEW public.current_orders WITH (security_invoker = true) AS
SELECT o.stream, o.order_id, o.lane, o.account_id, o.symbol, o.status, o.is_open, o.revision, o.reduced_from, o.source_version,
  CASE WHEN o.state IS NULL THEN
      coalesce((SELECT public.order_in(u.payload) FROM public.order_updates u WHERE u.lane = o.lane AND u.seq = o.seq), public.no_state(o.stream, o.order_id)::json)
    WHEN json_typeof(o.state) = 'object' THEN o.state END AS state,
  o.state AS kept_state,
  CASE WHEN o.state IS NULL THEN coalesce((SELECT u.payload FROM public.order_updates u WHERE u.lane = o.lane AND u.seq = o.seq), public.no_state(o.stream, o.order_id)) END AS payload,
  o.join_state, o.updated_at, o.closed_changed_at, o.seq
FROM public.orders o;

CREATE OR REPLACE FUNCTION public.lane_to_move(p_name text, p_from_seq bigint, p_after integer, OUT lane integer, OUT moved bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
  v_newest bigint;
BEGIN
  LOOP
    EXECUTE format('SELECT p.lane FROM public.%I p WHERE p.lane > $1 ORDER BY p.lane LIMIT 1', p_name) INTO lane USING coalesce(lane, p_after);
    EXIT WHEN lane IS NULL;
    EXECUTE format('SELECT p.seq FROM public.%I p WHERE p.lane = $1 ORDER BY p.seq DESC LIMIT 1', p_name) INTO v_newest USING lane;
    moved := coalesce((SELECT m.seq FROM public.moved_states m WHERE m.from_seq = p_from_seq AND m.lane = lane_to_move.lane), 0);
    EXIT WHEN moved < v_newest;
  END LOOP;
END
$$;

CREATE OR REPLACE FUNCTION public.move_order_states(p_retention interval, p_rows integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '250ms' SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_name text;
  v_from bigint;
  v_lane integer := -1;
  v_moved bigint;
  v_until bigint;
  v_seqs bigint[];
  v_streams text[];
  v_ids text[];
BEGIN
  IF NOT pg_try_advisory_xact_lock(hashtext('tidemark'), hashtext('moved_states')) THEN
    RETURN 0;
  END IF;
  SELECT p.name, p.from_seq INTO v_name, v_from FROM public.passed_log_partition(p_retention) p;
  IF v_name IS NULL THEN
    RETURN 0;
  END IF;
  LOOP
    SELECT l.lane, l.moved INTO v_lane, v_moved FROM public.lane_to_move(v_name, v_from, v_lane) l;
    IF v_lane IS NULL THEN
      RETURN 0;
    END IF;
    EXECUTE format('SELECT array_agg(u.seq), array_agg(u.stream), array_agg(u.order_id) FROM (
      SELECT p.seq, p.stream, p.order_id FROM public.%I p WHERE p.lane = $1 AND p.seq > $2 ORDER BY p.seq LIMIT $3) AS u', v_name)
      INTO v_seqs, v_streams, v_ids USING v_lane, v_moved, p_rows;
    WITH held AS MATERIALIZED (
      SELECT o.stream, o.order_id FROM unnest(v_seqs, v_streams, v_ids) AS u(seq, stream, order_id)
      JOIN public.orders o ON o.stream = u.stream AND o.order_id = u.order_id
      WHERE o.lane = v_lane AND o.seq = u.seq AND o.state IS NULL
      FOR NO KEY UPDATE OF o SKIP LOCKED
    )
    UPDATE public.orders o SET state = coalesce(c.state, to_json(c.payload)) FROM held h
    JOIN public.current_orders c ON c.stream = h.stream AND c.order_id = h.order_id
    WHERE o.stream = h.stream AND o.order_id = h.order_id;
    SELECT coalesce(min(u.seq) - 1, v_seqs[cardinality(v_seqs)]) INTO v_until FROM unnest(v_seqs, v_streams, v_ids) AS u(seq, stream, order_id)
    JOIN public.orders o ON o.stream = u.stream AND o.order_id = u.order_id
    WHERE o.lane = v_lane AND o.seq = u.seq AND o.state IS NULL;
    CONTINUE WHEN v_until < v_seqs[1];
    INSERT INTO public.moved_states AS m (from_seq, lane, seq) VALUES (v_from, v_lane, v_until)
    ON CONFLICT (from_seq, lane) DO UPDATE SET seq = excluded.seq, moved_by = excluded.moved_by, moved_at = excluded.moved_at;
    RETURN cardinality(v_seqs);
  END LOOP;
END
$$;

CREATE OR REPLACE FUNCTION public.older_log_snapshots(p_from_seq bigint) RETURNS text[]
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  -- First: age() counts from here.
  v_xid bigint := pg_current_xact_id()::text::bigint;
  v_moved_by bigint := (SELECT max(m.moved_by::text::bigint) FROM public.moved_states m WHERE m.from_seq = p_from_seq);
BEGIN
  RETURN (SELECT coalesce(array_agg(h.name ORDER BY h.name), '{}') FROM (
    SELECT format('session %s (%s)', a.pid, coalesce(nullif(a.application_name, ''), a.usename, 'of the server')) AS name, age(a.backend_xmin) AS age
    FROM pg_stat_activity a WHERE a.backend_xmin IS NOT NULL AND a.pid <> pg_backend_pid() AND (a.datname = current_database() OR a.datname IS NULL)
    UNION ALL
    SELECT format('replication slot %s', s.slot_name), age(s.xmin) FROM pg_replication_slots s WHERE s.xmin IS NOT NULL) AS h
    WHERE v_moved_by < v_xid AND v_xid - h.age <= v_moved_by);
END
$$;

CREATE OR REPLACE FUNCTION public.log_kept_by(p_retention interval) RETURNS text[]
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce((SELECT public.older_log_snapshots(p.from_seq) FROM public.passed_log_partition(p_retention) p), '{}')
$$;

CREATE OR REPLACE FUNCTION public.drop_log_partition(p_retention interval) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '250ms' AS $$
DECLARE
  v_name text;
  v_from bigint;
  v_held text[];
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('tidemark'), hashtext('log_partitions'));
  SELECT p.name, p.from_seq INTO v_name, v_from FROM public.passed_log_partition(p_retention) p;
  IF v_name IS NULL THEN
    RETURN NULL;
  END IF;
  v_held := public.log_holders(v_name);
  PERFORM pg_sleep(0.3);
  IF v_held && public.log_holders(v_name) THEN
    RETURN NULL;
  END IF;
  -- From here on no row can be added to it.
  EXECUTE format('LOCK TABLE public.%I IN SHARE MODE', v_name);
  IF (SELECT l.lane FROM public.lane_to_move(v_name, v_from, -1) l) IS NOT NULL THEN
    RETURN NULL;
  END IF;
  IF public.older_log_snapshots(v_from) <> '{}' AND (SELECT max(m.moved_at) FROM public.moved_states m WHERE m.from_seq = v_from) > clock_timestamp() - interval '1 day' THEN
    RETURN NULL;
  END IF;
  EXECUTE format('DROP TABLE public.%I', v_name);
  DELETE FROM public.moved_states m WHERE m.from_seq = v_from;
  RETURN v_name;
END
$$;

CREATE OR REPLACE FUNCTION public.event_json(e public.command_events) RETURNS json
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  c public.commands;
BEGIN
  SELECT * INTO c FROM public.commands WHERE command_id = e.command_id;
  c.version := e.version;
  c.state := e.state;
  c.order_id := e.order_id;
  c.reason := e.reason;
  c.presumed_absent := e.presumed_absent;
  c.pending_revision := e.pending_revision;
  c.pending_version := e.pending_version;
  c.misses := e.misses;
  c.updated_at := e.updated_at;
  c.settled_at := e.settled_at;
  -- An event that can't be read is its reader's to tell from the others: it comes without attempts.
  RETURN public.command_at(c, e.order_status, CASE WHEN json_typeof(e.attempts) <> 'array' THEN 'null' ELSE (
    SELECT json_agg(json_build_object(
      'attemptId', a.attempt_id, 'number', a.number, 'state', t.was -> 0, 'epoch', a.epoch::text, 'preparedAtMs', public.time_to_ms(a.prepared_at),
      'sendingAtMs', t.was -> 1, 'answeredAtMs', t.was -> 2, 'reason', t.was -> 3) ORDER BY a.number)
    FROM public.attempts a JOIN json_array_elements(e.attempts) WITH ORDINALITY AS t(was, number) ON t.number = a.number
    WHERE a.command_id = e.command_id) END);
END
$$;

CREATE OR REPLACE FUNCTION public.exposure_of(p_account text, p_symbol text, OUT amount numeric, OUT unvalued text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  SELECT coalesce(sum(e.value), 0), min(e.name) FILTER (WHERE e.value IS NULL) INTO amount, unvalued
  FROM (
    SELECT 'order ' || o.order_id AS name, CASE
      WHEN s."leavesQty" = 0 THEN 0
      -- As `measureCommand` values them: a buy of a prediction at its price, anything else at the most a contract can be worth.
      WHEN o.stream = 'prediction' THEN s."leavesQty" * CASE WHEN lower(s.side) = 'buy' THEN coalesce((s.working ->> 'price')::numeric, s.price, 1) ELSE 1 END
      WHEN c.exposure IS NULL AND u.bounded IS NOT TRUE THEN NULL
      -- A price of its own, or what it was valued at when it was placed here.
      ELSE s."leavesQty" * greatest(
        abs(coalesce((s.working ->> 'price')::numeric, s.price)) * u.shares, abs(s."stopPrice") * u.shares,
        c.exposure / nullif((c.request -> 'terms' ->> 'qty')::numeric, 0))
      END AS value
    FROM unnest(ARRAY['account', 'prediction']) AS k(stream)
    JOIN public.current_orders o ON o.account_id = p_account AND o.stream = k.stream AND o.is_open
    CROSS JOIN LATERAL json_to_record(o.state) AS s(instrument json, side text, price numeric, "stopPrice" numeric, working json, "leavesQty" numeric)
    CROSS JOIN LATERAL (SELECT s.instrument ->> 'kind' = 'option', json_array_length(coalesce(s.instrument -> 'legs', '[]'))) AS i(is_option, legs)
    CROSS JOIN LATERAL (SELECT
      CASE WHEN NOT i.is_option THEN 1 WHEN i.legs = 1 THEN 100 * ceil((s.instrument -> 'legs' -> 0 ->> 'ratioQty')::numeric) ELSE 100 END,
      CASE WHEN NOT i.is_option OR i.legs = 1 THEN true
        -- Without legs it may be a package of any number of contracts, unless its symbol names one.
        WHEN i.legs = 0 THEN public.underlying_symbol(public.symbol_letters(o.symbol)) <> public.symbol_letters(o.symbol)
        -- The net price of several legs bounds a purchase alone, and only above zero (as `isCapped` of domain/measure-command.ts says).
        ELSE lower(s.side) LIKE 'buy%' AND coalesce((s.working ->> 'price')::numeric, s.price) > 0 AND 0 <= (
          SELECT sum((l ->> 'ratioQty')::numeric * CASE WHEN lower(l ->> 'side') LIKE 'buy%' THEN 1 ELSE -1 END) FROM json_array_elements(s.instrument -> 'legs') AS l)
      END) AS u(shares, bounded)
    LEFT JOIN public.order_bindings b ON b.stream = o.stream AND b.order_id = o.order_id
    LEFT JOIN public.commands c ON c.command_id = b.command_id
    -- The platform may show an order by the symbol of its contract, which can have another root (`AAPL1`) than the place's own symbol.
    WHERE p_symbol IS NULL OR public.same_underlying(o.stream, o.symbol, p_symbol) OR public.same_underlying(o.stream, c.symbol, p_symbol)
    UNION ALL
    SELECT 'command ' || c.command_id, c.exposure
    FROM public.commands c
    WHERE c.account_id = p_account AND c.settled_at IS NULL AND c.kind <> 'cancel'
      AND (c.kind = 'replace' OR NOT EXISTS (SELECT FROM public.order_bindings b WHERE b.command_id = c.command_id AND b.matches))
      AND (p_symbol IS NULL OR public.same_underlying(c.stream, coalesce(c.symbol,
        (SELECT o.symbol FROM public.orders o WHERE o.stream = c.stream AND o.order_id = c.order_id)), p_symbol))
  ) AS e;
END
$$;

CREATE OR REPLACE FUNCTION public.begin_generation(p_lane integer, p_least integer, p_halt_id text, p_cause text, p_reason text, p_by text,
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

GRANT USAGE ON SCHEMA public TO tidemark_app, tidemark_reader;

GRANT SELECT ON public.orders, public.current_orders, public.order_updates, public.order_bindings, public.lane_batches TO tidemark_app;

GRANT SELECT, INSERT, UPDATE ON public.lanes, public.relay_positions, public.published_topics, public.accounts TO tidemark_app;

GRANT SELECT, UPDATE (lane, epoch, since, pinned) ON public.shards TO tidemark_app;

GRANT SELECT, UPDATE (dealt_at), DELETE ON public.quarantine TO tidemark_app;

GRANT SELECT, INSERT, UPDATE ON public.credentials TO tidemark_app;

GRANT SELECT, INSERT (kind, stream, account_id, quarantine_id, job_id, since, asked_by, reason, answered_at, outcome, detail),
  UPDATE (answered_at, outcome, detail), DELETE ON public.repair_requests TO tidemark_app;

GRANT SELECT, INSERT, UPDATE (ended_at, cancelled_by), DELETE ON public.quarantine_jobs TO tidemark_app;

GRANT SELECT, INSERT, UPDATE ON public.commands, public.attempts, public.command_fence TO tidemark_app;

GRANT SELECT, INSERT ON public.evidence, public.audit_log TO tidemark_app;

GRANT SELECT, INSERT, DELETE ON public.command_events, public.command_outbox TO tidemark_app;

GRANT SELECT, INSERT, UPDATE (key_held, ended_at) ON public.cancel_alls TO tidemark_app;

GRANT SELECT, INSERT, UPDATE (timer_id, fires_at, ended_at, changes) ON public.cancel_timers TO tidemark_app;

GRANT SELECT, INSERT, UPDATE (cleared_at, cleared_by, cleared_reason) ON public.halts TO tidemark_app;

GRANT SELECT, DELETE ON public.halt_events TO tidemark_app;

GRANT SELECT, INSERT, UPDATE ON public.event_floor TO tidemark_app;

GRANT SELECT ON SEQUENCE public.command_events_id_seq TO tidemark_app;

GRANT SELECT ON public.principal_tokens TO tidemark_app;

GRANT SELECT, INSERT, UPDATE, DELETE ON public.limits TO tidemark_app;

GRANT SELECT, INSERT, UPDATE (approved_by, approved_reason, approved_at, expires_at) ON public.approvals TO tidemark_app;

GRANT SELECT ON public.orders, public.current_orders, public.moved_states, public.order_updates, public.order_bindings, public.lanes, public.lane_batches, public.shards, public.relay_positions, public.published_topics, public.accounts, public.quarantine,
  public.repair_requests, public.quarantine_jobs, public.commands, public.attempts, public.evidence, public.command_events, public.command_outbox, public.halt_events, public.event_floor,
  public.command_fence, public.cancel_alls, public.cancel_timers, public.halts,
  public.limits, public.approvals, public.audit_log TO tidemark_reader;

GRANT SELECT (principal, number, scopes, accounts, created_at, expires_at) ON public.principal_tokens TO tidemark_reader;

GRANT EXECUTE ON FUNCTION public.apply_batch, public.apply_batch_with_bindings, public.heads_of, public.order_in, public.order_chain, public.log_partitions, public.ensure_log_partitions,
  public.move_order_states, public.drop_log_partition, public.log_kept_by, public.no_state, public.lane_batch, public.unpublished_lanes, public.lacks_actions, public.lacks_commits, public.notice_loss, public.end_token_again TO tidemark_app;

GRANT EXECUTE ON FUNCTION public.ms_to_time, public.time_to_ms, public.command_at, public.order_status_of, public.attempt_json, public.command_json, public.event_json, public.bindings_of, public.hold_command_fence, public.append_evidence,
  public.add_command_evidence, public.tell_step, public.is_superseded, public.open_command, public.close_sending, public.try_sending, public.sending_objection, public.mark_sending,
  public.step_command, public.note_misses, public.add_audit_lines, public.write_one, public.write_group,
  public.take_over_commands TO tidemark_app;

GRANT EXECUTE ON FUNCTION public.cancel_all_holds_key, public.open_cancel_all, public.end_cancel_all, public.cancel_all_json, public.raise_halt, public.clear_halts, public.hold_halts,
  public.without_halt TO tidemark_app;

GRANT EXECUTE ON FUNCTION public.set_cancel_timers, public.end_cancel_timer TO tidemark_app;

GRANT EXECUTE ON FUNCTION public.ms_to_time, public.time_to_ms, public.command_at, public.order_status_of, public.attempt_json, public.command_json, public.event_json,
  public.cancel_all_json TO tidemark_reader;

GRANT EXECUTE ON FUNCTION public.canonical_symbol, public.symbol_letters, public.underlying_symbol, public.same_underlying, public.limit_reading, public.exposure_of, public.weigh_limits, public.judge_limits,
  public.uses_reference_again, public.may_supersede, public.preview_command, public.change_limits, public.request_approval TO tidemark_app;

GRANT EXECUTE ON FUNCTION public.canonical_symbol, public.symbol_letters, public.order_chain, public.order_in, public.log_partitions, public.no_state TO tidemark_reader;
