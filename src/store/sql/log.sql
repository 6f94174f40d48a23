-- ----- Orders and their log -----

ALTER TABLE public.orders SET (fillfactor = 80);

-- For an order whose state is neither in `orders` nor in the log: null, or 40001 where the snapshot still shows a partition that is gone. Such a snapshot is from before its states
-- were moved, and would read every one of them as nothing: on a standby without feedback, or after `older_log_snapshots` has waited long enough. Its arguments keep it from being run
-- when a query is planned.
CREATE FUNCTION public.no_state(p_stream text, p_order_id text) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT FROM pg_inherits i WHERE i.inhparent = 'public.order_updates'::regclass AND pg_table_is_visible(i.inhrelid) IS NULL) THEN
    RAISE EXCEPTION 'the state of %:% has moved since this snapshot was taken', p_stream, p_order_id
      USING ERRCODE = '40001', HINT = 'Begin the transaction again.';
  END IF;
  RETURN NULL;
END
$$;

-- The order in a payload; null where the text is no JSON, or shows no order there. One row that can't be read is one order's fault, and not that of the statement which meets it.
CREATE FUNCTION public.order_in(p_payload text) RETURNS json
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

-- Every order in its newest state, for all who read it: `state`, with the very bytes that the payload has under `order`. Where whole states go on as they are, `kept_state` and
-- `payload` are cheaper (one of them is null): to cut the order out of the text costs Postgres 10 to 20 µs, and a reader 1. Subqueries and no join: they are run for the rows shown
-- alone, by the log's key, and never as a scan of the log. `state` is null where it can't be read: readers show the others, and name that one.
CREATE VIEW public.current_orders WITH (security_invoker = true) AS
SELECT o.stream, o.order_id, o.lane, o.account_id, o.symbol, o.status, o.is_open, o.revision, o.reduced_from, o.source_version,
  CASE WHEN o.state IS NULL THEN
      coalesce((SELECT public.order_in(u.payload) FROM public.order_updates u WHERE u.lane = o.lane AND u.seq = o.seq), public.no_state(o.stream, o.order_id)::json)
    WHEN json_typeof(o.state) = 'object' THEN o.state END AS state,
  o.state AS kept_state,
  CASE WHEN o.state IS NULL THEN coalesce((SELECT u.payload FROM public.order_updates u WHERE u.lane = o.lane AND u.seq = o.seq), public.no_state(o.stream, o.order_id)) END AS payload,
  o.join_state, o.updated_at, o.closed_changed_at, o.seq
FROM public.orders o;

-- What a batch looks up before it is reduced. Each is planned once a session, by its keys and whatever its tables held then: planning took ten times as long as the look,
-- and a plan from a time with few rows would be kept.
CREATE FUNCTION public.heads_of(p_keys text[], OUT key text, OUT revision bigint, OUT source_version bigint, OUT kept_state text, OUT payload text, OUT join_state text)
RETURNS SETOF record
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET plan_cache_mode = 'force_generic_plan'
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  -- Keys are <stream>:<orderId>.
  RETURN QUERY SELECT k.key, o.revision, o.source_version, o.kept_state::text, o.payload, o.join_state::text
  FROM unnest(p_keys) AS k(key)
  JOIN public.current_orders o ON o.stream = split_part(k.key, ':', 1) AND o.order_id = substr(k.key, strpos(k.key, ':') + 1);
END
$$;

-- Those of the lanes that have rows above the lower of their relay's positions, which Kafka may lack. Each process asks this once a second for all lanes without a holder,
-- so one statement asks for all: to begin one costs 0.3 ms beside 20 partitions. Without sequential scans: a plan made while a partition was empty would read all of it later.
CREATE FUNCTION public.unpublished_lanes(p_lanes integer[]) RETURNS SETOF integer
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY SELECT l.lane FROM unnest(p_lanes) AS l(lane)
  CROSS JOIN LATERAL (
    SELECT min(coalesce(r.seq, 0)) AS seq FROM (VALUES ('log'), ('state')) AS c(cursor)
    LEFT JOIN public.relay_positions r ON r.lane = l.lane AND r.cursor = c.cursor) AS passed
  CROSS JOIN LATERAL (SELECT FROM public.order_updates u WHERE u.lane = l.lane AND u.seq > passed.seq ORDER BY u.seq LIMIT 1) AS above;
END
$$;

-- One batch, whole or not at all. Volatile: each statement inside takes its own snapshot, so the statements after enter_lane see every batch before this one.
-- The arrays are parallel: h_* is one newest state for each order, u_* the log rows in order of acceptance, q_* the messages for the dead letters.
-- h_update is the place of the order's newest row among u_*, which has its state; h_state is given where there is none. u_before is the place of the order's row before among u_*,
-- or less than 0 that of its head among h_*: then the row before is the newest that is stored. It is taken from the stored order, because a caller that has two batches under way does not
-- know the numbers of the first when it sends the second.
-- Returns the seq of the last log row, null when there is none.
CREATE FUNCTION public.apply_batch(
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

-- A batch with orders that carry ids of our own attempts. It is a function beside `apply_batch`, not more parameters of it: nearly all batches have no such order
-- and cost no more, and a service of the build before this one goes on during a deployment.
CREATE FUNCTION public.apply_batch_with_bindings(
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

-- An order's updates from the newest down to the one above p_above, one look-up by the log's key for each; they end where the log does. Without sequential scans: a plan made while a
-- partition was empty would read all of it later.
-- Rows of a build that kept no chain name none before them. They are in partitions that have an index on orders (docs/decisions/074-a-database-that-exists-is-migrated.md):
-- one look-up for each of these partitions, from the newest down, until revision 1 is found. A new database has none.
CREATE FUNCTION public.order_chain(p_stream text, p_order_id text, p_above bigint)
RETURNS TABLE (lane integer, seq bigint, revision bigint, before_seq bigint)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
  v_before_lane integer;
  v_below bigint;
  v_from bigint;
  v_until bigint;
BEGIN
  SELECT o.lane, o.seq, o.revision + 1 INTO v_before_lane, before_seq, v_below FROM public.orders o WHERE o.stream = p_stream AND o.order_id = p_order_id;
  WHILE before_seq IS NOT NULL LOOP
    SELECT u.lane, u.seq, u.revision, u.before_seq, u.before_lane INTO lane, seq, revision, before_seq, v_before_lane
    FROM public.order_updates u WHERE u.lane = v_before_lane AND u.seq = order_chain.before_seq;
    IF NOT FOUND OR revision <= p_above THEN
      RETURN;
    END IF;
    v_below := revision;
    RETURN NEXT;
  END LOOP;
  IF v_below > greatest(p_above, 0) + 1 THEN
    -- By the bounds of the partition, not by its name: a login of the service may read the log alone.
    FOR v_from, v_until IN
      SELECT p.from_seq, p.until_seq FROM public.log_partitions() p
      WHERE EXISTS (SELECT FROM pg_constraint k WHERE k.conrelid = to_regclass(format('public.%I', p.name)) AND k.contype = 'u') ORDER BY p.from_seq DESC
    LOOP
      FOR lane, seq, revision IN EXECUTE format('SELECT u.lane, u.seq, u.revision FROM public.order_updates u
        WHERE u.seq >= %s AND u.seq < %s AND u.stream = $1 AND u.order_id = $2 AND u.revision > $3 AND u.revision < $4 ORDER BY u.revision DESC', v_from, v_until)
        USING p_stream, p_order_id, p_above, v_below
      LOOP
        v_below := revision;
        RETURN NEXT;
      END LOOP;
      EXIT WHEN v_below <= greatest(p_above, 0) + 1;
    END LOOP;
  END IF;
END
$$;

-- ----- The log's partitions -----

-- The log's partitions with their bounds [from_seq, until_seq), lowest first, from the catalog: a table of our own could be wrong.
CREATE FUNCTION public.log_partitions() RETURNS TABLE (name text, from_seq bigint, until_seq bigint)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT c.relname::text,
    substring(pg_get_expr(c.relpartbound, c.oid) FROM 'FROM \(''?(\d+)')::bigint,
    substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''?(\d+)')::bigint
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = 'public.order_updates'::regclass
  ORDER BY 2
$$;

-- Makes partitions of p_rows each until p_ahead of them lie wholly above the last seq given out; returns the names of the new ones.
-- A plain table, then ATTACH: PARTITION OF would take an exclusive lock on the log, ATTACH lets writers and readers go on.
CREATE FUNCTION public.ensure_log_partitions(p_rows bigint, p_ahead integer DEFAULT 2) RETURNS text[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_seq bigint;
  v_from bigint;
  v_name text;
  v_made text[] := '{}';
BEGIN
  IF p_rows < 1 OR p_ahead < 1 THEN
    RAISE EXCEPTION 'a partition needs at least one row, and one must lie ahead' USING ERRCODE = '22023';
  END IF;
  PERFORM pg_advisory_xact_lock(hashtext('tidemark'), hashtext('log_partitions'));
  SELECT last_value INTO v_seq FROM public.order_updates_seq;
  SELECT coalesce(max(until_seq), 1) INTO v_from FROM public.log_partitions();
  -- After a gap (all partitions lost, the sequence moved) start where the log is, not where it was.
  IF v_from <= v_seq AND NOT EXISTS (SELECT FROM public.log_partitions() p WHERE p.from_seq <= v_seq AND p.until_seq > v_seq) THEN
    v_from := v_seq;
  END IF;
  WHILE (SELECT count(*) FROM public.log_partitions() p WHERE p.from_seq > v_seq) < p_ahead LOOP
    v_name := 'order_updates_' || v_from;
    EXECUTE format('CREATE TABLE public.%I (LIKE public.order_updates INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING INDEXES)', v_name);
    EXECUTE format('ALTER TABLE public.order_updates ATTACH PARTITION public.%I FOR VALUES FROM (%s) TO (%s)',
      v_name, v_from, v_from + p_rows);
    v_made := v_made || v_name;
    v_from := v_from + p_rows;
  END LOOP;
  RETURN v_made;
END
$$;

-- The other transactions that have a lock on the log or on this partition of it.
CREATE FUNCTION public.log_holders(p_partition text) RETURNS text[]
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce(array_agg(DISTINCT l.virtualtransaction), '{}') FROM pg_locks l
  WHERE l.relation IN ('public.order_updates'::regclass, to_regclass(format('public.%I', p_partition))) AND l.granted AND l.pid IS DISTINCT FROM pg_backend_pid()
    AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
$$;

-- The oldest partition when it may be dropped but for the states in it: its newest row is older than p_retention, and no lane has rows in it that one of its cursors has not
-- passed. Null otherwise. A cursor without rows keeps no partition, because a lane that was tried once leaves its cursors behind for good. The retention is asked first, since
-- it is cheaper. The lock waits for a batch that has rows here and is not committed: it would not be seen.
CREATE FUNCTION public.passed_log_partition(p_retention interval) RETURNS TABLE (name text, from_seq bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '250ms' AS $$
DECLARE
  v_until bigint;
  v_newest timestamptz;
  v_kept boolean;
  v_last bigint;
  v record;
BEGIN
  SELECT p.name, p.from_seq, p.until_seq INTO name, from_seq, v_until FROM public.log_partitions() p LIMIT 1;
  SELECT last_value INTO v_last FROM public.order_updates_seq;
  -- A partition that may still get rows stays.
  IF name IS NULL OR v_until > v_last OR NOT EXISTS (SELECT FROM public.lanes) THEN
    RETURN;
  END IF;
  EXECUTE format('SELECT max(u.recorded_at) FROM public.lanes l CROSS JOIN LATERAL (
    SELECT recorded_at FROM public.%I p WHERE p.lane = l.lane ORDER BY p.seq DESC LIMIT 1) AS u', name) INTO v_newest;
  IF v_newest > clock_timestamp() - p_retention THEN
    RETURN;
  END IF;
  -- A cursor that never saved a position has passed nothing.
  FOR v IN
    SELECT l.lane, min(coalesce(r.seq, 0)) AS passed
    FROM public.lanes l CROSS JOIN (VALUES ('log'), ('state')) AS c(cursor)
    LEFT JOIN public.relay_positions r ON r.lane = l.lane AND r.cursor = c.cursor
    GROUP BY l.lane HAVING min(coalesce(r.seq, 0)) < v_until - 1
  LOOP
    EXECUTE format('LOCK TABLE public.%I IN SHARE MODE', name);
    EXECUTE format('SELECT EXISTS (SELECT FROM public.%I WHERE lane = $1 AND seq > $2)', name) INTO v_kept USING v.lane, v.passed;
    IF v_kept THEN
      RETURN;
    END IF;
  END LOOP;
  RETURN NEXT;
END
$$;

-- The first lane above p_after that has rows in the partition above those whose states were moved, and how far they were; null: there is none. Within a lane the order of seq is the order of commit,
-- so a row that was committed late is above what was moved.
CREATE FUNCTION public.lane_to_move(p_name text, p_from_seq bigint, p_after integer, OUT lane integer, OUT moved bigint)
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

-- Moves states out of the oldest partition, if it may be dropped but for them: those of the orders whose newest update is among the next p_rows rows of a lane. Returns how many rows it
-- looked at; 0: none is left, another session does it, or other transactions hold what is left. To be called until then, each call in a transaction of its own, which is short and may
-- end anywhere.
-- The position is compared on the order's newest version, so a newer update is never overwritten; it sets the state to null itself. An order that another transaction holds is not waited
-- for (the other might wait for one held here): what was moved then ends before it, and the next call begins there. A lane that gets no further for this reason leaves the call to the next
-- lane. A payload that can't be read is moved as the text that it is.
-- There is no index on the position in orders: it changes with each update, and none of them would stay within its page. So each row of the log is looked at once, before its drop.
CREATE FUNCTION public.move_order_states(p_retention interval, p_rows integer) RETURNS integer
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

-- Who may have a snapshot from before the last move out of the partition, by name: it shows states where they were. Such a snapshot has an xmin up to that transaction, and who wrote an
-- order's newer row, which the mover passed over, is before it too. xmin is shown to every role. A standby shows its oldest snapshot here if it gives feedback. A number from another
-- cluster, which a copy of the tables brings along, is not reached yet and says nothing.
CREATE FUNCTION public.older_log_snapshots(p_from_seq bigint) RETURNS text[]
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

-- By whom the oldest partition is kept though it may be dropped: see older_log_snapshots.
CREATE FUNCTION public.log_kept_by(p_retention interval) RETURNS text[]
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce((SELECT public.older_log_snapshots(p.from_seq) FROM public.passed_log_partition(p_retention) p), '{}')
$$;

-- Drops the oldest partition when it may be dropped (see passed_log_partition), every state in it was moved, and no snapshot is from before that. Returns its name, or null.
-- One partition for each call. DROP locks the whole log, and every later statement waits behind it: so it waits for a short time only, and not at all beside a long
-- transaction (a backup holds all tables until its end). Otherwise each call would stall every batch.
-- A snapshot that has not touched the log keeps it for a day at most. After that its reader gets an error in place of what it lacks: see no_state.
CREATE FUNCTION public.drop_log_partition(p_retention interval) RETURNS text
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
