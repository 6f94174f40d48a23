-- Each fact stands once. What changes for tables and rows is written by hand; the functions below the line are copied from src/store/sql.

-- The platform may give an order's id again: each order under it has a binding of its own, and a place of its own. Readers go on while the index is built.
CREATE UNIQUE INDEX order_bindings_stream_order_id_attempt_id_pk ON public.order_bindings (stream, order_id, attempt_id);
--> statement-breakpoint
ALTER TABLE public.order_bindings DROP CONSTRAINT order_bindings_stream_order_id_pk,
  ADD CONSTRAINT order_bindings_stream_order_id_attempt_id_pk PRIMARY KEY USING INDEX order_bindings_stream_order_id_attempt_id_pk;
DROP INDEX public.commands_one_place_per_order;
--> statement-breakpoint
-- A partition is dropped once no snapshot is from before its last move.
ALTER TABLE public.moved_states ADD COLUMN moved_by xid8 DEFAULT pg_current_xact_id() NOT NULL, ADD COLUMN moved_at timestamptz DEFAULT now() NOT NULL;
DROP FUNCTION public.lane_to_move(text, bigint);

-- A halt is its row: no process says any more which halts it holds.
DROP FUNCTION public.hold_halts(integer, bigint, text[]);
DROP FUNCTION public.without_halt(text, double precision);
DROP FUNCTION public.raise_halt(integer, bigint, text, text, text, text, text, double precision);
DROP FUNCTION public.take_over_commands(integer, bigint, double precision);
ALTER TABLE public.lanes DROP COLUMN halts_held, ADD COLUMN unpublished_after bigint;
ALTER TABLE public.halts DROP COLUMN number;
--> statement-breakpoint
-- A discard of many rows is one statement: its job counts them itself. Those under way are carried out here; the service ends their jobs.
UPDATE public.quarantine q SET dealt_at = now() FROM public.repair_requests r
WHERE r.kind = 'discard' AND r.answered_at IS NULL AND q.id = r.quarantine_id AND q.dealt_at IS NULL;
ALTER TABLE public.quarantine_jobs ADD COLUMN discarded integer DEFAULT 0 NOT NULL;
UPDATE public.quarantine_jobs j SET discarded = (
  SELECT count(*) FROM public.repair_requests r WHERE r.job_id = j.job_id AND (r.answered_at IS NULL OR r.outcome = 'done'))
WHERE j.action = 'discard';
DELETE FROM public.repair_requests WHERE kind = 'discard';
ALTER TABLE public.repair_requests DROP CONSTRAINT repair_requests_kind,
  ADD CONSTRAINT repair_requests_kind CHECK (
    kind IN ('read', 'backfill') AND quarantine_id IS NULL AND job_id IS NULL
    OR kind = 'retry' AND quarantine_id IS NOT NULL) NOT VALID;

-- What was acknowledged is one list of acts, of each lane.
DROP FUNCTION public.lacks_actions(json);
DROP FUNCTION public.lacks_commits(integer, json);
DROP FUNCTION public.count_lacking_updates(text[], text[], integer[], bigint[], text[]);
DROP FUNCTION public.count_lacking_batches(json);
DROP FUNCTION public.notice_loss(integer, json, text[], text[], integer[], bigint[], text[], json, text, text, bigint);
--> statement-breakpoint
-- The shard's row is the fence of its commands. The next taking is above both, and so is a process shut out that has the older functions in hand.
UPDATE public.shards s SET epoch = greatest(s.epoch, f.epoch) + 1 FROM public.command_fence f WHERE f.shard = s.shard;
DROP TABLE public.command_fence;

-- A topic that was made again is known by its ends. The first look keeps them.
ALTER TABLE public.published_topics DROP COLUMN topic_id, DROP COLUMN since, ADD COLUMN ends bigint[] DEFAULT '{}' NOT NULL, ADD COLUMN lost text;
ALTER TABLE public.published_topics ALTER COLUMN ends DROP DEFAULT;

-- The words of the field: watermarks, in the log and on a topic of their own.
UPDATE public.order_updates
SET stream = 'watermarks', payload = replace(payload, '"schema":"tidemark.continuity.v1"', '"schema":"tidemark.watermarks.v1"')
WHERE stream = 'continuity';
DELETE FROM public.published_topics WHERE kind IN ('continuity', 'witness');

-- Dead letters, and commands that are resolved.
ALTER TABLE public.quarantine RENAME TO dead_letters;
ALTER SEQUENCE public.quarantine_id_seq RENAME TO dead_letters_id_seq;
ALTER INDEX public.quarantine_open RENAME TO dead_letters_open;
ALTER TABLE public.dead_letters RENAME CONSTRAINT quarantine_pkey TO dead_letters_pkey;
ALTER TABLE public.quarantine_jobs RENAME TO dead_letter_jobs;
ALTER INDEX public.quarantine_jobs_asked RENAME TO dead_letter_jobs_asked;
ALTER TABLE public.dead_letter_jobs RENAME CONSTRAINT quarantine_jobs_pkey TO dead_letter_jobs_pkey;
ALTER TABLE public.dead_letter_jobs RENAME CONSTRAINT quarantine_jobs_action TO dead_letter_jobs_action;
ALTER TABLE public.dead_letter_jobs RENAME CONSTRAINT quarantine_jobs_reason TO dead_letter_jobs_reason;
ALTER TABLE public.dead_letter_jobs RENAME CONSTRAINT quarantine_jobs_cancelled TO dead_letter_jobs_cancelled;
ALTER TABLE public.repair_requests RENAME COLUMN quarantine_id TO dead_letter_id;
ALTER TABLE public.lanes RENAME COLUMN unfit TO unhealthy;
ALTER TABLE public.commands RENAME COLUMN settled_at TO resolved_at;
ALTER INDEX public.commands_settled RENAME TO commands_resolved;
ALTER TABLE public.commands RENAME CONSTRAINT commands_settled_is_final TO commands_resolved_is_final;
ALTER TABLE public.command_events RENAME COLUMN settled_at TO resolved_at;
ALTER TABLE public.approvals DISABLE TRIGGER approvals_guard;
UPDATE public.approvals SET action = (action::jsonb || '{"kind": "resolve"}')::json WHERE action ->> 'kind' = 'settle';
ALTER TABLE public.approvals ENABLE TRIGGER approvals_guard;

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

CREATE OR REPLACE FUNCTION public.apply_batch(
  p_lane integer, p_epoch bigint, p_number bigint,
  h_stream text[], h_order_id text[], h_account_id text[], h_symbol text[], h_status text[],
  h_revision bigint[], h_reduced_from bigint[], h_source_version bigint[], h_state json[], h_join_state json[], h_update bigint[],
  u_stream text[], u_order_id text[], u_account_id text[], u_revision bigint[], u_before bigint[], u_payload text[],
  q_stream text[], q_account_id text[], q_order_id text[], q_reason text[], q_detail text[], q_raw text[], q_observed_ms bigint[]
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = 'force_generic_plan'
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_rows bigint;
  v_added bigint;
  v_seqs bigint[];
  v_all integer[];
  v_new integer[];
  v_places integer[];
  v_before_seq bigint[];
  v_before_lane integer[];
BEGIN
  PERFORM public.enter_lane(p_lane, p_epoch, p_number);
  SELECT array_agg(nextval('public.order_updates_seq')) FILTER (WHERE n <= cardinality(u_stream)), array_agg(n) FILTER (WHERE n <= cardinality(h_stream)) INTO v_seqs, v_all
  FROM generate_series(1, greatest(cardinality(u_stream), cardinality(h_stream))) n;

  -- Compare and set on the revision that the new state was made from (0: a new order). If another revision is stored, the caller worked from an old state, or another
  -- lane follows the account as well. Then the whole batch is refused, and the states are read again.
  IF cardinality(h_stream) > 0 THEN
    v_new := array_positions(h_reduced_from, 0::bigint);
    -- Each order is looked up by its key: ANY leaves no other way to join, whatever the table held when this was planned. Without an update only the join's memory changed: the state
    -- stays where it is.
    WITH changed AS (
      UPDATE public.orders o SET
        symbol = h.symbol, status = h.status, revision = h.revision, reduced_from = h.reduced_from, source_version = h.source_version,
        lane = CASE WHEN h.update IS NULL THEN o.lane ELSE p_lane END, seq = coalesce(v_seqs[h.update], o.seq),
        state = CASE WHEN h.update IS NOT NULL THEN NULL WHEN h.revision = o.revision THEN o.state ELSE h.state END,
        join_state = h.join_state, updated_at = now(), before_seq = o.seq, before_lane = o.lane
      FROM (SELECT unnest(v_all) AS place, unnest(h_stream) AS stream, unnest(h_order_id) AS order_id, unnest(h_symbol) AS symbol, unnest(h_status) AS status,
        unnest(h_revision) AS revision, unnest(h_reduced_from) AS reduced_from, unnest(h_source_version) AS source_version, unnest(h_state) AS state,
        unnest(h_join_state) AS join_state, unnest(h_update) AS update) h
      WHERE h.reduced_from > 0 AND o.stream = ANY (ARRAY[h.stream]) AND o.order_id = ANY (ARRAY[h.order_id]) AND o.revision = h.reduced_from
      RETURNING h.place, o.before_seq, o.before_lane)
    SELECT count(*), array_agg(c.place) || v_new, array_agg(c.before_seq), array_agg(c.before_lane) INTO v_rows, v_places, v_before_seq, v_before_lane FROM changed c;
    IF v_new <> '{}' THEN
      INSERT INTO public.orders (stream, order_id, lane, account_id, symbol, status, revision, reduced_from, source_version, state, join_state, seq)
      SELECT h.stream, h.order_id, p_lane, h.account_id, h.symbol, h.status, h.revision, 0, h.source_version, h.state, h.join_state, v_seqs[h.update]
      FROM (SELECT unnest(h_stream) AS stream, unnest(h_order_id) AS order_id, unnest(h_account_id) AS account_id, unnest(h_symbol) AS symbol, unnest(h_status) AS status,
        unnest(h_revision) AS revision, unnest(h_reduced_from) AS reduced_from, unnest(h_source_version) AS source_version, unnest(h_state) AS state,
        unnest(h_join_state) AS join_state, unnest(h_update) AS update) h
      WHERE h.reduced_from = 0
      ON CONFLICT (stream, order_id) DO NOTHING;
      GET DIAGNOSTICS v_added = ROW_COUNT;
      v_rows := v_rows + v_added;
    END IF;
    IF v_rows <> cardinality(h_stream) THEN
      IF (SELECT count(DISTINCT (h.stream, h.order_id)) FROM unnest(h_stream, h_order_id) AS h(stream, order_id)) <> cardinality(h_stream) THEN
        RAISE EXCEPTION 'an order is there twice' USING ERRCODE = '21000';
      END IF;
      RAISE EXCEPTION '% of % heads were not reduced from what is stored', cardinality(h_stream) - v_rows, cardinality(h_stream)
        USING ERRCODE = 'TM003';
    END IF;
    -- Where all were known they come in the order of the heads.
    IF v_places <> v_all THEN
      SELECT array_agg(w.seq ORDER BY w.place), array_agg(w.lane ORDER BY w.place) INTO v_before_seq, v_before_lane
      FROM unnest(v_places, v_before_seq, v_before_lane) AS w(place, seq, lane);
    END IF;
  END IF;

  IF cardinality(u_stream) > 0 THEN
    INSERT INTO public.order_updates (seq, lane, batch, stream, order_id, account_id, revision, payload, before_seq, before_lane)
    SELECT u.seq, p_lane, p_number, u.stream, u.order_id, u.account_id, u.revision, u.payload,
      CASE WHEN u.before > 0 THEN v_seqs[u.before] ELSE v_before_seq[-u.before] END, CASE WHEN u.before > 0 THEN p_lane ELSE v_before_lane[-u.before] END
    FROM (SELECT unnest(v_seqs) AS seq, unnest(u_stream) AS stream, unnest(u_order_id) AS order_id, unnest(u_account_id) AS account_id,
      unnest(u_revision) AS revision, unnest(u_before) AS before, unnest(u_payload) AS payload) u
    -- A revision is given once: by the comparison above, and because each row of an order is one above the row before it. Marks have none before.
    WHERE (u.revision = 1 + CASE WHEN u.before > 0 THEN u_revision[u.before] ELSE h_reduced_from[-u.before] END) IS NOT FALSE;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    IF v_rows <> cardinality(u_stream) THEN
      RAISE EXCEPTION 'an update does not follow the one before it' USING ERRCODE = '23505';
    END IF;
  END IF;

  IF cardinality(q_stream) > 0 THEN
    INSERT INTO public.dead_letters (lane, batch, stream, account_id, order_id, reason, detail, raw, observed_at)
    SELECT p_lane, p_number, q.stream, q.account_id, q.order_id, q.reason, q.detail, q.raw, to_timestamp(q.observed_ms / 1000.0)
    FROM unnest(q_stream, q_account_id, q_order_id, q_reason, q_detail, q_raw, q_observed_ms)
      AS q(stream, account_id, order_id, reason, detail, raw, observed_ms);
  END IF;

  RETURN v_seqs[cardinality(u_stream)];
END
$$;

CREATE OR REPLACE FUNCTION public.apply_batch_with_bindings(
  p_lane integer, p_epoch bigint, p_number bigint,
  h_stream text[], h_order_id text[], h_account_id text[], h_symbol text[], h_status text[],
  h_revision bigint[], h_reduced_from bigint[], h_source_version bigint[], h_state json[], h_join_state json[], h_update bigint[],
  u_stream text[], u_order_id text[], u_account_id text[], u_revision bigint[], u_before bigint[], u_payload text[],
  q_stream text[], q_account_id text[], q_order_id text[], q_reason text[], q_detail text[], q_raw text[], q_observed_ms bigint[],
  b_stream text[], b_order_id text[], b_attempt_id text[], b_command_id text[], b_matches bigint[]
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_last bigint;
BEGIN
  v_last := public.apply_batch(
    p_lane, p_epoch, p_number,
    h_stream, h_order_id, h_account_id, h_symbol, h_status, h_revision, h_reduced_from, h_source_version, h_state, h_join_state, h_update,
    u_stream, u_order_id, u_account_id, u_revision, u_before, u_payload,
    q_stream, q_account_id, q_order_id, q_reason, q_detail, q_raw, q_observed_ms);
  -- An order is bound once: its head was compared. A further order under the id has another attempt.
  INSERT INTO public.order_bindings (stream, order_id, attempt_id, command_id, matches)
  SELECT b.stream, b.order_id, b.attempt_id, b.command_id::uuid, b.matches <> 0
  FROM unnest(b_stream, b_order_id, b_attempt_id, b_command_id, b_matches) AS b(stream, order_id, attempt_id, command_id, matches)
  ON CONFLICT (stream, order_id, attempt_id) DO NOTHING;
  RETURN v_last;
END
$$;

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

CREATE OR REPLACE FUNCTION public.command_at(c public.commands, p_order_status text, p_attempts json) RETURNS json
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN json_build_object(
    'commandId', c.command_id, 'shard', c.shard, 'principal', c.principal, 'idempotencyKey', c.idempotency_key, 'requestHash', c.request_hash,
    'request', c.request, 'callerRef', c.caller_ref, 'supersedes', c.supersedes, 'state', c.state, 'version', c.version, 'orderId', c.order_id,
    'orderStatus', p_order_status, 'reason', c.reason, 'presumedAbsent', c.presumed_absent, 'pendingRevision', c.pending_revision,
    'pendingVersion', c.pending_version::text, 'misses', c.misses, 'baseline', c.baseline, 'deadlineAtMs', public.time_to_ms(c.deadline_at),
    'createdAtMs', public.time_to_ms(c.created_at), 'updatedAtMs', public.time_to_ms(c.updated_at), 'resolvedAtMs', public.time_to_ms(c.resolved_at),
    'attempts', coalesce(p_attempts, '[]'));
END
$$;

CREATE OR REPLACE FUNCTION public.order_status_of(c public.commands) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  -- Of the command's own order: the platform may have given the id again since. The order itself is read only where that is so.
  RETURN (SELECT o.status FROM public.orders o WHERE o.stream = c.stream AND o.order_id = c.order_id AND o.account_id = c.account_id
    AND CASE WHEN c.kind <> 'place' THEN o.join_state ->> 'incarnation' IS NOT DISTINCT FROM c.baseline ->> 'incarnation'
      WHEN o.join_state ->> 'incarnation' IS NULL THEN true
      ELSE (SELECT v.state ->> 'commandId' = c.command_id::text FROM public.current_orders v WHERE v.stream = c.stream AND v.order_id = c.order_id) END);
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
  c.resolved_at := e.resolved_at;
  -- An event that can't be read is its reader's to tell from the others: it comes without attempts.
  RETURN public.command_at(c, e.order_status, CASE WHEN json_typeof(e.attempts) <> 'array' THEN 'null' ELSE (
    SELECT json_agg(json_build_object(
      'attemptId', a.attempt_id, 'number', a.number, 'state', t.was -> 0, 'epoch', a.epoch::text, 'preparedAtMs', public.time_to_ms(a.prepared_at),
      'sendingAtMs', t.was -> 1, 'answeredAtMs', t.was -> 2, 'reason', t.was -> 3) ORDER BY a.number)
    FROM public.attempts a JOIN json_array_elements(e.attempts) WITH ORDINALITY AS t(was, number) ON t.number = a.number
    WHERE a.command_id = e.command_id) END);
END
$$;

CREATE OR REPLACE FUNCTION public.hold_command_fence(p_shard integer, p_epoch bigint) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(hashtext('tidemark fence'), p_shard);
  -- A statement of its own: its snapshot is younger than the lock.
  PERFORM FROM public.shards s WHERE s.shard = p_shard AND s.epoch = p_epoch;
  RETURN FOUND;
END
$$;

CREATE OR REPLACE FUNCTION public.tell_step(p_command_id uuid) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  c public.commands;
  v_status text;
  v_brief json;
  v_attempts json;
  v_id bigint;
BEGIN
  SELECT * INTO c FROM public.commands WHERE command_id = p_command_id;
  v_status := public.order_status_of(c);
  -- The brief form has what of an attempt may change, by its number.
  SELECT json_agg(json_build_array(a.state, public.time_to_ms(a.sending_at), public.time_to_ms(a.answered_at), a.reason) ORDER BY a.number),
    json_agg(public.attempt_json(a) ORDER BY a.number)
  INTO v_brief, v_attempts FROM public.attempts a WHERE a.command_id = p_command_id;
  INSERT INTO public.command_events (command_id, version, misses, presumed_absent, updated_at, resolved_at, pending_revision, pending_version, state, order_id,
    order_status, reason, attempts)
  VALUES (c.command_id, c.version, c.misses, c.presumed_absent, c.updated_at, c.resolved_at, c.pending_revision, c.pending_version, c.state, c.order_id,
    v_status, c.reason, coalesce(v_brief, '[]'))
  RETURNING id INTO v_id;
  INSERT INTO public.command_outbox (id, shard, version, command_id) VALUES (v_id, c.shard, c.version, c.command_id);
  RETURN public.command_at(c, v_status, v_attempts);
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
    CROSS JOIN LATERAL json_to_record(o.state) AS s(instrument json, side text, price numeric, "stopPrice" numeric, working json, "leavesQty" numeric, "commandId" uuid)
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
    LEFT JOIN public.commands c ON c.command_id = s."commandId"
    -- The platform may show an order by the symbol of its contract, which can have another root (`AAPL1`) than the place's own symbol.
    WHERE p_symbol IS NULL OR public.same_underlying(o.stream, o.symbol, p_symbol) OR public.same_underlying(o.stream, c.symbol, p_symbol)
    UNION ALL
    SELECT 'command ' || c.command_id, c.exposure
    FROM public.commands c
    WHERE c.account_id = p_account AND c.resolved_at IS NULL AND c.kind <> 'cancel'
      AND (c.kind = 'replace' OR NOT EXISTS (SELECT FROM public.order_bindings b WHERE b.command_id = c.command_id AND b.matches))
      AND (p_symbol IS NULL OR public.same_underlying(c.stream, coalesce(c.symbol,
        (SELECT o.symbol FROM public.orders o WHERE o.stream = c.stream AND o.order_id = c.order_id)), p_symbol))
  ) AS e;
END
$$;

CREATE OR REPLACE FUNCTION public.weigh_limits(p json, p_all boolean) RETURNS SETOF json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  m jsonb := p -> 'measure';
  b record;
  v_kind text := p -> 'request' ->> 'kind';
  v_account text := p -> 'request' ->> 'accountId';
  v_principal text := p ->> 'principal';
  v_at timestamptz := public.ms_to_time((p ->> 'atMs')::double precision);
  v_symbol text := m -> 'underlyings' ->> 0;
  v_by_quote boolean := (m ->> 'valuedByQuote')::boolean;
  v_missing text;
  v_no_quote text;
  v_count bigint;
  v_own bigint;
  v_same uuid;
BEGIN
  IF v_kind = 'cancel' THEN
    RETURN;
  END IF;
  SELECT count(*) AS rows,
    min((l.bounds ->> 'maxQuantity')::numeric) AS quantity, min((l.bounds ->> 'maxNotional')::numeric) AS notional,
    min((l.bounds ->> 'collarPercent')::numeric) AS collar, -- The row of everyone has one even where it does not say so; each other row can only lower it.
    least(coalesce(min((l.bounds ->> 'maxQuoteAgeMs')::bigint) FILTER (WHERE l.principal IS NULL AND l.account_id IS NULL), 10000),
      min((l.bounds ->> 'maxQuoteAgeMs')::bigint) FILTER (WHERE l.principal IS NOT NULL OR l.account_id IS NOT NULL)) AS quote_age,
    min((l.bounds ->> 'maxOpenOrders')::bigint) AS open_orders,
    min((l.bounds ->> 'maxSymbolExposure')::numeric) AS symbol_exposure, min((l.bounds ->> 'maxAccountExposure')::numeric) AS account_exposure,
    -- A row that names a principal counts the commands of that principal; any other row counts those of all.
    min((l.bounds ->> 'ordersPerMinute')::bigint) FILTER (WHERE l.principal IS NULL) AS rate,
    min((l.bounds ->> 'ordersPerMinute')::bigint) FILTER (WHERE l.principal IS NOT NULL) AS own_rate,
    max((l.bounds ->> 'duplicateWindowMs')::bigint) FILTER (WHERE l.principal IS NULL) AS same_within,
    max((l.bounds ->> 'duplicateWindowMs')::bigint) FILTER (WHERE l.principal IS NOT NULL) AS own_same_within,
    min((l.bounds -> 'allowedSymbols')::text) AS any_allowed,
    min((l.bounds -> 'allowedSymbols')::text) FILTER (WHERE NOT l.bounds -> 'allowedSymbols' ?& ARRAY(SELECT jsonb_array_elements_text(m -> 'underlyings'))) AS allowed,
    min((l.bounds -> 'forbiddenSymbols')::text) AS any_forbidden,
    -- Letters and digits alone are compared: what is forbidden as BRK.B is forbidden as BRK/B, and as the root BRKB of a contract.
    min((l.bounds -> 'forbiddenSymbols')::text) FILTER (WHERE EXISTS (
      SELECT FROM jsonb_array_elements_text(l.bounds -> 'forbiddenSymbols') AS f(symbol), jsonb_array_elements_text(m -> 'symbols') AS t(symbol)
      WHERE regexp_replace(f.symbol, '[^A-Z0-9]', '', 'g') = regexp_replace(t.symbol, '[^A-Z0-9]', '', 'g'))) AS forbidden,
    min((l.bounds -> 'instruments')::text) AS any_instruments,
    min((l.bounds -> 'instruments')::text) FILTER (WHERE NOT l.bounds -> 'instruments' ? (m ->> 'instrument')) AS instruments
  INTO b FROM public.limits l
  WHERE (coalesce(l.principal, ''), coalesce(l.account_id, '')) IN (('', ''), ('', v_account), (v_principal, ''), (v_principal, v_account));

  IF (p ->> 'limitsRequired')::boolean AND num_nulls(b.quantity, b.notional, least(b.rate, b.own_rate)) > 0 THEN
    v_missing := concat_ws(', ', CASE WHEN b.quantity IS NULL THEN 'maxQuantity' END, CASE WHEN b.notional IS NULL THEN 'maxNotional' END,
      CASE WHEN least(b.rate, b.own_rate) IS NULL THEN 'ordersPerMinute' END);
    RETURN NEXT public.limit_reading('required', v_missing, true, NULL);
    IF NOT p_all THEN
      RETURN;
    END IF;
  END IF;
  IF b.rows = 0 THEN
    RETURN;
  END IF;
  IF m IS NULL OR NOT m ?& ARRAY['symbols', 'underlyings', 'exposure'] THEN
    RAISE EXCEPTION 'command % comes without what its limits are held against', p ->> 'commandId' USING ERRCODE = 'TM010';
  END IF;

  v_no_quote := CASE WHEN NOT m ? 'quoteAgeMs' THEN 'there is no quote' WHEN (m ->> 'quoteAgeMs')::bigint > b.quote_age
    THEN format('the quote is %s ms old, and may be %s', m ->> 'quoteAgeMs', b.quote_age) END;
  RETURN QUERY SELECT public.limit_reading(r.name, r.bound, r.why IS NOT NULL OR coalesce(r.broken, false), CASE WHEN r.why IS NULL THEN r.value END, r.why, CASE WHEN r.why IS NOT NULL THEN r.needs_quote END)
  FROM (VALUES
    (1, 'allowedSymbols', coalesce(b.allowed, b.any_allowed), b.allowed IS NOT NULL, CASE WHEN b.allowed IS NULL THEN m ->> 'underlyings' ELSE
      (SELECT u.symbol FROM jsonb_array_elements_text(m -> 'underlyings') AS u(symbol) WHERE NOT b.allowed::jsonb ? u.symbol LIMIT 1) END, NULL, NULL),
    (2, 'forbiddenSymbols', coalesce(b.forbidden, b.any_forbidden), b.forbidden IS NOT NULL, m ->> 'symbols', NULL, NULL),
    (3, 'instruments', coalesce(b.instruments, b.any_instruments), b.instruments IS NOT NULL, m ->> 'instrument', NULL, NULL),
    (4, 'maxQuantity', CASE WHEN m ? 'quantity' THEN b.quantity::text END, (m ->> 'quantity')::numeric > b.quantity, m ->> 'quantity', NULL, NULL),
    (5, 'collarPercent', CASE WHEN m ? 'deviationPercent' THEN b.collar::text END, (m ->> 'deviationPercent')::numeric > b.collar, m ->> 'deviationPercent',
      CASE WHEN v_no_quote IS NOT NULL OR m ->> 'deviationPercent' IS NULL THEN coalesce(m ->> 'notCompared', v_no_quote, 'there is no quote') END, NOT m ? 'notCompared')
  ) AS r(place, name, bound, broken, value, why, needs_quote)
  WHERE r.bound IS NOT NULL AND (p_all OR r.why IS NOT NULL OR r.broken) ORDER BY r.place;
  IF FOUND AND NOT p_all THEN
    RETURN;
  END IF;
  -- Without a value nothing is compared: SQL would let a NULL pass.
  v_no_quote := CASE WHEN v_by_quote THEN coalesce(v_no_quote, CASE WHEN m ->> 'exposure' IS NULL THEN 'a side of the quote is missing' END)
    WHEN m ->> 'exposure' IS NULL THEN coalesce(m ->> 'notValued', 'the order has no price') END;
  IF b.notional IS NOT NULL AND m ? 'notional' AND (p_all OR v_no_quote IS NOT NULL OR (m ->> 'notional')::numeric > b.notional) THEN
    RETURN NEXT public.limit_reading('maxNotional', b.notional::text, v_no_quote IS NOT NULL OR (m ->> 'notional')::numeric > b.notional,
      CASE WHEN v_no_quote IS NULL THEN m ->> 'notional' END, v_no_quote, CASE WHEN v_no_quote IS NOT NULL THEN v_by_quote END);
    IF NOT p_all THEN
      RETURN;
    END IF;
  END IF;

  IF num_nonnulls(b.rate, b.own_rate, b.same_within, b.own_same_within, b.open_orders, b.symbol_exposure, b.account_exposure) = 0 THEN
    RETURN;
  END IF;
  IF NOT p_all THEN
    PERFORM pg_advisory_xact_lock(hashtext('tidemark limits'), hashtext(v_account));
  END IF;

  IF least(b.rate, b.own_rate) IS NOT NULL THEN
    SELECT count(*) INTO v_count FROM public.commands c WHERE c.account_id = v_account AND c.created_at > v_at - interval '1 minute' AND c.kind <> 'cancel';
    IF b.own_rate IS NOT NULL AND (p_all OR v_count >= b.own_rate) THEN
      SELECT count(*) INTO v_own FROM public.commands c
      WHERE c.account_id = v_account AND c.created_at > v_at - interval '1 minute' AND c.kind <> 'cancel' AND c.principal = v_principal;
    END IF;
    RETURN QUERY SELECT public.limit_reading('ordersPerMinute', r.bound::text, coalesce(r.before >= r.bound, false), (r.before + 1)::text)
    FROM (VALUES (1, b.rate, v_count), (2, b.own_rate, v_own)) AS r(place, bound, before)
    WHERE r.bound IS NOT NULL AND (p_all OR r.before >= r.bound) ORDER BY r.place;
    IF FOUND AND NOT p_all THEN
      RETURN;
    END IF;
  END IF;
  -- The command that it supersedes is presumed absent, and a command that placed nothing is no duplicate.
  IF v_kind = 'place' AND greatest(b.same_within, b.own_same_within) IS NOT NULL THEN
    SELECT c.command_id INTO v_same FROM public.commands c
    WHERE c.account_id = v_account AND c.kind = 'place' AND c.stream = p -> 'request' ->> 'stream'
      AND (c.symbol = p -> 'request' -> 'terms' ->> 'symbol'
        OR c.stream = 'account' AND public.symbol_letters(c.symbol) = public.symbol_letters(p -> 'request' -> 'terms' ->> 'symbol'))
      AND c.state NOT IN ('not_sent', 'refused')
      AND c.command_id IS DISTINCT FROM (p ->> 'supersedes')::uuid
      AND jsonb_set(c.request::jsonb, '{terms,symbol}', '""') = jsonb_set((p -> 'request')::jsonb, '{terms,symbol}', '""')
      AND (c.created_at > v_at - b.same_within * interval '1 ms' OR c.principal = v_principal AND c.created_at > v_at - b.own_same_within * interval '1 ms')
      AND c.created_at > v_at - greatest(b.same_within, b.own_same_within) * interval '1 ms'
    ORDER BY c.created_at DESC LIMIT 1;
    IF p_all OR v_same IS NOT NULL THEN
      RETURN NEXT public.limit_reading('duplicateWindowMs', greatest(b.same_within, b.own_same_within)::text, v_same IS NOT NULL, 'the same as command ' || v_same);
      IF NOT p_all THEN
        RETURN;
      END IF;
    END IF;
  END IF;
  IF v_kind = 'place' AND b.open_orders IS NOT NULL THEN
    SELECT 1 + (SELECT count(*) FROM unnest(ARRAY['account', 'prediction']) AS k(stream)
        JOIN public.orders o ON o.account_id = v_account AND o.stream = k.stream AND o.is_open)
      + (SELECT count(*) FROM public.commands c WHERE c.account_id = v_account AND c.resolved_at IS NULL AND c.kind = 'place'
        AND NOT EXISTS (SELECT FROM public.order_bindings ob WHERE ob.command_id = c.command_id AND ob.matches)) INTO v_count;
    IF p_all OR v_count > b.open_orders THEN
      RETURN NEXT public.limit_reading('maxOpenOrders', b.open_orders::text, v_count > b.open_orders, v_count::text);
      IF NOT p_all THEN
        RETURN;
      END IF;
    END IF;
  END IF;
  -- A replace that adds nothing passes, however much is at work.
  IF num_nonnulls(b.symbol_exposure, b.account_exposure) = 0 OR (m ->> 'exposure')::numeric = 0 THEN
    RETURN;
  END IF;
  RETURN QUERY SELECT public.limit_reading(of.name, of.bound::text, w.why IS NOT NULL OR coalesce(x.amount > of.bound, false),
    CASE WHEN w.why IS NULL THEN trim_scale(x.amount)::text END, w.why, CASE WHEN w.at = 2 THEN v_by_quote END)
  FROM (VALUES (1, 'maxSymbolExposure', b.symbol_exposure, v_symbol), (2, 'maxAccountExposure', b.account_exposure, NULL)) AS of(place, name, bound, symbol)
  CROSS JOIN LATERAL (SELECT e.unvalued, e.amount + (m ->> 'exposure')::numeric FROM public.exposure_of(v_account, of.symbol) AS e) AS x(unvalued, amount)
  CROSS JOIN LATERAL (SELECT CASE WHEN of.place = 1 AND jsonb_array_length(m -> 'underlyings') > 1 THEN 1 WHEN v_no_quote IS NOT NULL THEN 2
    WHEN x.unvalued IS NOT NULL THEN 3 END) AS c(at)
  CROSS JOIN LATERAL (SELECT c.at, CASE c.at WHEN 1 THEN 'its legs are of several underlyings: ' || (m ->> 'underlyings') WHEN 2 THEN v_no_quote
    WHEN 3 THEN format('the value of %s is not known', x.unvalued) END) AS w(at, why)
  WHERE of.bound IS NOT NULL AND (p_all OR w.why IS NOT NULL OR x.amount > of.bound) ORDER BY of.place;
END
$$;

CREATE OR REPLACE FUNCTION public.open_command(p_shard integer, p_epoch bigint, p json) RETURNS json
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

CREATE OR REPLACE FUNCTION public.sending_objection(c public.commands) RETURNS json
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

CREATE OR REPLACE FUNCTION public.step_command(p_shard integer, p_epoch bigint, p json) RETURNS json
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

CREATE OR REPLACE FUNCTION public.take_over_commands(p_shard integer, p_epoch bigint, p_at_ms double precision, p_halt_at json) RETURNS integer
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

CREATE OR REPLACE FUNCTION public.write_group(p_names text[], p_shards bigint[], p_epochs bigint[], p_bodies json[], OUT result json, OUT code text, OUT message text) RETURNS SETOF record
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

CREATE OR REPLACE FUNCTION public.cancel_all_holds_key(c public.cancel_alls, p_at timestamptz) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN c.created_at > p_at - interval '7 days' OR c.ended_at IS NULL OR EXISTS (
    SELECT FROM public.commands m
    WHERE m.resolved_at IS NULL AND m.principal = c.principal AND starts_with(m.idempotency_key, 'cancel-all:' || c.cancel_all_id || ':'));
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

CREATE OR REPLACE FUNCTION public.halt_json(h public.halts) RETURNS json
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN json_strip_nulls(json_build_object(
    'haltId', h.halt_id, 'accountId', h.account_id, 'cause', h.cause, 'reason', h.reason, 'by', h.raised_by, 'sinceMs', public.time_to_ms(h.since),
    'clearedAtMs', public.time_to_ms(h.cleared_at), 'clearedBy', h.cleared_by, 'clearedReason', h.cleared_reason));
END
$$;

CREATE OR REPLACE FUNCTION public.record_halt_event() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO public.halt_events (snapshot) VALUES (public.halt_json(NEW));
  RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION public.raise_halt(p_halt_id text, p_account_id text, p_cause text, p_reason text, p_by text, p_since_ms double precision) RETURNS public.halts
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

CREATE OR REPLACE FUNCTION public.halt_doubtful(p_account_ids text[], p_most json, p_at_ms double precision) RETURNS json[]
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
        SELECT FROM public.commands WHERE resolved_at IS NULL AND state IN ('unknown', 'conflict') LIMIT v_most) AS c;
    ELSE
      v_most := (p_most ->> 'account')::integer;
      v_of := ' of the account';
      SELECT count(*) INTO v_found FROM (
        SELECT FROM public.commands WHERE resolved_at IS NULL AND account_id = v_account_id AND state IN ('unknown', 'conflict') LIMIT v_most) AS c;
    END IF;
    CONTINUE WHEN v_found < v_most;
    v_raised := array_append(v_raised, public.halt_json(public.raise_halt(gen_random_uuid()::text, v_account_id, 'unresolved',
      format('%s commands%s have an outcome that is not known', v_most, v_of), 'tidemark', p_at_ms)));
  END LOOP;
  RETURN v_raised;
END
$$;

CREATE OR REPLACE FUNCTION public.begin_generation(p_lane integer, p_least integer, p_halt_id text, p_cause text, p_reason text, p_by text,
  OUT generation integer, OUT attempts integer)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_seq bigint;
  v_lane integer;
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

CREATE OR REPLACE FUNCTION public.lacks_acts(p_acts json) RETURNS boolean
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

CREATE OR REPLACE FUNCTION public.lacks_commits(p_seen json) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT EXISTS (
    SELECT FROM json_to_recordset(p_seen) AS s(lane integer, generation integer, epoch bigint, batch bigint, acts json)
    LEFT JOIN public.lanes l USING (lane)
    CROSS JOIN LATERAL (SELECT coalesce(l.generation, (SELECT max(generation) FROM public.lanes), 1) AS generation) AS now
    WHERE s.generation > now.generation OR s.generation = now.generation AND (
      coalesce(l.epoch, 0) < s.epoch OR coalesce(public.lane_batch(s.lane), 0) < s.batch OR public.lacks_acts(s.acts)))
$$;

CREATE OR REPLACE FUNCTION public.notice_loss(p_lane integer, p_seen json, p_halt_id text, p_by text, p_epoch bigint) RETURNS integer
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
    IF NEW.key_held OR NEW.resolved_at IS NULL THEN
      RAISE EXCEPTION 'the key of command % is given up once, when it is final', OLD.command_id USING ERRCODE = 'TM010';
    END IF;
    IF NEW.version = OLD.version AND NEW.state = OLD.state THEN
      RETURN NEW;
    END IF;
  END IF;
  -- One more read that missed an unknown command is counted beside its steps: nothing else may change with it.
  IF NEW.version = OLD.version AND NEW.misses = OLD.misses + 1 AND OLD.state = 'unknown' AND
    (NEW.state, NEW.order_id, NEW.reason::text, NEW.presumed_absent, NEW.pending_revision, NEW.pending_version, NEW.updated_at, NEW.resolved_at)
    IS NOT DISTINCT FROM
    (OLD.state, OLD.order_id, OLD.reason::text, OLD.presumed_absent, OLD.pending_revision, OLD.pending_version, OLD.updated_at, OLD.resolved_at)
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

GRANT USAGE ON SCHEMA public TO tidemark_app, tidemark_reader;

GRANT SELECT ON public.orders, public.current_orders, public.order_updates, public.order_bindings, public.lane_batches TO tidemark_app;

GRANT SELECT, INSERT, UPDATE ON public.lanes, public.relay_positions, public.published_topics, public.accounts TO tidemark_app;

GRANT SELECT, UPDATE (lane, epoch, since, pinned) ON public.shards TO tidemark_app;

GRANT SELECT, UPDATE (dealt_at), DELETE ON public.dead_letters TO tidemark_app;

GRANT SELECT, INSERT, UPDATE ON public.credentials TO tidemark_app;

GRANT SELECT, INSERT (kind, stream, account_id, dead_letter_id, job_id, since, asked_by, reason, answered_at, outcome, detail),
  UPDATE (answered_at, outcome, detail), DELETE ON public.repair_requests TO tidemark_app;

GRANT SELECT, INSERT, UPDATE (ended_at, cancelled_by), DELETE ON public.dead_letter_jobs TO tidemark_app;

GRANT SELECT, INSERT, UPDATE ON public.commands, public.attempts TO tidemark_app;

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

GRANT SELECT ON public.orders, public.current_orders, public.moved_states, public.order_updates, public.order_bindings, public.lanes, public.lane_batches, public.shards, public.relay_positions, public.published_topics, public.accounts, public.dead_letters,
  public.repair_requests, public.dead_letter_jobs, public.commands, public.attempts, public.evidence, public.command_events, public.command_outbox, public.halt_events, public.event_floor,
  public.cancel_alls, public.cancel_timers, public.halts,
  public.limits, public.approvals, public.audit_log TO tidemark_reader;

GRANT SELECT (principal, number, scopes, accounts, created_at, expires_at) ON public.principal_tokens TO tidemark_reader;

GRANT EXECUTE ON FUNCTION public.apply_batch, public.apply_batch_with_bindings, public.heads_of, public.order_in, public.order_chain, public.log_partitions, public.ensure_log_partitions,
  public.move_order_states, public.drop_log_partition, public.log_kept_by, public.no_state, public.lane_batch, public.unpublished_lanes, public.lacks_acts, public.lacks_commits, public.notice_loss, public.end_token_again TO tidemark_app;

GRANT EXECUTE ON FUNCTION public.ms_to_time, public.time_to_ms, public.command_at, public.order_status_of, public.attempt_json, public.command_json, public.event_json, public.bindings_of, public.hold_command_fence, public.append_evidence,
  public.add_command_evidence, public.tell_step, public.is_superseded, public.open_command, public.close_sending, public.try_sending, public.sending_objection, public.mark_sending,
  public.step_command, public.note_misses, public.add_audit_lines, public.write_one, public.write_group,
  public.take_over_commands TO tidemark_app;

GRANT EXECUTE ON FUNCTION public.cancel_all_holds_key, public.open_cancel_all, public.end_cancel_all, public.cancel_all_json, public.halt_json, public.raise_halt,
  public.halt_doubtful, public.clear_halts TO tidemark_app;

GRANT EXECUTE ON FUNCTION public.set_cancel_timers, public.end_cancel_timer TO tidemark_app;

GRANT EXECUTE ON FUNCTION public.ms_to_time, public.time_to_ms, public.command_at, public.order_status_of, public.attempt_json, public.command_json, public.event_json,
  public.cancel_all_json TO tidemark_reader;

GRANT EXECUTE ON FUNCTION public.canonical_symbol, public.symbol_letters, public.underlying_symbol, public.same_underlying, public.limit_reading, public.exposure_of, public.weigh_limits, public.judge_limits,
  public.uses_reference_again, public.may_supersede, public.preview_command, public.change_limits, public.request_approval TO tidemark_app;

GRANT EXECUTE ON FUNCTION public.canonical_symbol, public.symbol_letters, public.order_chain, public.order_in, public.log_partitions, public.no_state TO tidemark_reader;
