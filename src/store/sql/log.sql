-- ----- Orders and their log -----

CREATE TABLE public.orders (
  stream text NOT NULL,
  order_id text NOT NULL,
  lane integer NOT NULL,
  account_id text NOT NULL,
  symbol text NOT NULL,
  status text NOT NULL,
  is_open boolean GENERATED ALWAYS AS (status not in ('filled', 'replaced', 'canceled', 'expired', 'rejected')) STORED NOT NULL,
  revision bigint NOT NULL,
  reduced_from bigint DEFAULT 0 NOT NULL,
  source_version bigint,
  state json NOT NULL,
  join_state json NOT NULL,
  updated_at timestamptz DEFAULT now() NOT NULL,
  closed_changed_at timestamptz GENERATED ALWAYS AS (case when status in ('filled', 'replaced', 'canceled', 'expired', 'rejected') then updated_at end) STORED,
  CONSTRAINT orders_stream_order_id_pk PRIMARY KEY (stream, order_id)
) WITH (fillfactor = 80);

CREATE INDEX orders_by_account ON public.orders (account_id, stream, is_open, order_id);
-- Closed orders by newest change. Open ones are not in it, so their updates stay within the page.
CREATE INDEX orders_closed ON public.orders (account_id, stream, closed_changed_at, order_id) WHERE closed_changed_at is not null;

CREATE SEQUENCE public.order_updates_seq AS bigint;

CREATE TABLE public.order_updates (
  seq bigint DEFAULT nextval('public.order_updates_seq') NOT NULL,
  lane integer NOT NULL,
  batch bigint NOT NULL,
  stream text NOT NULL,
  order_id text NOT NULL,
  account_id text NOT NULL,
  revision bigint NOT NULL,
  payload text NOT NULL,
  recorded_at timestamptz DEFAULT now() NOT NULL,
  -- The lane comes first, so that reading one lane costs the same however many rows another lane has written in between.
  CONSTRAINT order_updates_lane_seq_pk PRIMARY KEY (lane, seq)
) PARTITION BY RANGE (seq);

CREATE TABLE public.relay_positions (
  lane integer NOT NULL,
  cursor text NOT NULL,
  seq bigint NOT NULL,
  saved_at timestamptz DEFAULT now() NOT NULL,
  CONSTRAINT relay_positions_lane_cursor_pk PRIMARY KEY (lane, cursor)
);

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

CREATE TABLE public.quarantine (
  id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  lane integer NOT NULL,
  batch bigint NOT NULL,
  stream text NOT NULL,
  account_id text,
  order_id text,
  reason text NOT NULL,
  detail text NOT NULL,
  raw text NOT NULL,
  observed_at timestamptz NOT NULL,
  recorded_at timestamptz DEFAULT now() NOT NULL,
  dealt_at timestamptz
);

CREATE INDEX quarantine_open ON public.quarantine (stream, reason) WHERE dealt_at is null;

CREATE TABLE public.order_bindings (
  stream text NOT NULL,
  order_id text NOT NULL,
  attempt_id text NOT NULL,
  command_id uuid NOT NULL,
  matches boolean NOT NULL,
  bound_at timestamptz DEFAULT now() NOT NULL,
  CONSTRAINT order_bindings_stream_order_id_pk PRIMARY KEY (stream, order_id)
);

CREATE INDEX order_bindings_by_command ON public.order_bindings (command_id);

-- The topic that records of each kind were published to, by Kafka's own id of it: a topic that was deleted and made again has another.
CREATE TABLE public.published_topics (
  kind text PRIMARY KEY,
  name text NOT NULL,
  topic_id text NOT NULL,
  since timestamptz DEFAULT now() NOT NULL
);

-- One batch, whole or not at all. Volatile: each statement inside takes its own snapshot, so the statements after enter_lane see every batch before this one.
-- The arrays are parallel: h_* is one newest state for each order, u_* the log rows in order of acceptance, q_* the messages for the quarantine.
-- Returns the seq of the last log row, null when there is none.
CREATE FUNCTION public.apply_batch(
  p_lane integer, p_epoch bigint, p_number bigint,
  h_stream text[], h_order_id text[], h_account_id text[], h_symbol text[], h_status text[],
  h_revision bigint[], h_reduced_from bigint[], h_source_version bigint[], h_state json[], h_join_state json[],
  u_stream text[], u_order_id text[], u_account_id text[], u_revision bigint[], u_payload text[],
  q_stream text[], q_account_id text[], q_order_id text[], q_reason text[], q_detail text[], q_raw text[], q_observed_ms bigint[]
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_rows bigint;
  v_last bigint;
BEGIN
  PERFORM public.enter_lane(p_lane, p_epoch, p_number);

  IF cardinality(u_stream) > 0 THEN
    INSERT INTO public.order_updates (lane, batch, stream, order_id, account_id, revision, payload)
    SELECT p_lane, p_number, u.stream, u.order_id, u.account_id, u.revision, u.payload
    FROM unnest(u_stream, u_order_id, u_account_id, u_revision, u_payload)
      WITH ORDINALITY AS u(stream, order_id, account_id, revision, payload, place)
    ORDER BY u.place;
    v_last := currval('public.order_updates_seq');
  END IF;

  -- Compare and set on the revision that the new state was made from (0: a new order). If another revision is stored, the caller worked from an old state, or another
  -- lane follows the account as well. Then the whole batch is refused, and the states are read again. The revision comes in a column, because ON CONFLICT sees no other
  -- value of the row that was to be inserted; a join of arrays and orders might be planned as a scan of all orders.
  IF cardinality(h_stream) > 0 THEN
    INSERT INTO public.orders AS o (stream, order_id, lane, account_id, symbol, status, revision, reduced_from, source_version, state, join_state)
    SELECT h.stream, h.order_id, p_lane, h.account_id, h.symbol, h.status, h.revision, h.reduced_from, h.source_version, h.state, h.join_state
    FROM unnest(h_stream, h_order_id, h_account_id, h_symbol, h_status, h_revision, h_reduced_from, h_source_version, h_state, h_join_state)
      AS h(stream, order_id, account_id, symbol, status, revision, reduced_from, source_version, state, join_state)
    ON CONFLICT (stream, order_id) DO UPDATE SET
      symbol = excluded.symbol, status = excluded.status, revision = excluded.revision, reduced_from = excluded.reduced_from, source_version = excluded.source_version,
      state = excluded.state, join_state = excluded.join_state, updated_at = excluded.updated_at
    WHERE o.revision = excluded.reduced_from;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    IF v_rows <> cardinality(h_stream) THEN
      RAISE EXCEPTION '% of % heads were not reduced from what is stored', cardinality(h_stream) - v_rows, cardinality(h_stream)
        USING ERRCODE = 'TM003';
    END IF;
  END IF;

  IF cardinality(q_stream) > 0 THEN
    INSERT INTO public.quarantine (lane, batch, stream, account_id, order_id, reason, detail, raw, observed_at)
    SELECT p_lane, p_number, q.stream, q.account_id, q.order_id, q.reason, q.detail, q.raw, to_timestamp(q.observed_ms / 1000.0)
    FROM unnest(q_stream, q_account_id, q_order_id, q_reason, q_detail, q_raw, q_observed_ms)
      AS q(stream, account_id, order_id, reason, detail, raw, observed_ms);
  END IF;

  RETURN v_last;
END
$$;

-- A batch with orders that carry ids of our own attempts. It is a function beside `apply_batch`, not more parameters of it: nearly all batches have no such order
-- and cost no more, and a service of the build before this one goes on during a deployment.
CREATE FUNCTION public.apply_batch_with_bindings(
  p_lane integer, p_epoch bigint, p_number bigint,
  h_stream text[], h_order_id text[], h_account_id text[], h_symbol text[], h_status text[],
  h_revision bigint[], h_reduced_from bigint[], h_source_version bigint[], h_state json[], h_join_state json[],
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
    h_stream, h_order_id, h_account_id, h_symbol, h_status, h_revision, h_reduced_from, h_source_version, h_state, h_join_state,
    u_stream, u_order_id, u_account_id, u_revision, u_payload,
    q_stream, q_account_id, q_order_id, q_reason, q_detail, q_raw, q_observed_ms);
  -- An order is bound once: the first row stays.
  INSERT INTO public.order_bindings (stream, order_id, attempt_id, command_id, matches)
  SELECT b.stream, b.order_id, b.attempt_id, b.command_id::uuid, b.matches <> 0
  FROM unnest(b_stream, b_order_id, b_attempt_id, b_command_id, b_matches) AS b(stream, order_id, attempt_id, command_id, matches)
  ON CONFLICT (stream, order_id) DO NOTHING;
  RETURN v_last;
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
    EXECUTE format('ALTER TABLE public.%I ADD UNIQUE (stream, order_id, revision)', v_name);
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

-- Drops the oldest partition when its newest row is older than p_retention and no lane has rows in it that one of its cursors has not passed. Returns its name, or null.
-- A cursor without rows keeps no partition, because a lane that was tried once leaves its cursors behind for good. The retention is asked first, since it is cheaper.
-- One partition for each call. DROP locks the whole log, and every later statement waits behind it: so it waits for a short time only, and not at all beside a long
-- transaction (a backup holds all tables until its end). Otherwise each call would stall every batch.
CREATE FUNCTION public.drop_log_partition(p_retention interval) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '250ms' AS $$
DECLARE
  v_name text;
  v_until bigint;
  v_newest timestamptz;
  v_kept boolean;
  v_last bigint;
  v_held text[];
  v record;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('tidemark'), hashtext('log_partitions'));
  SELECT p.name, p.until_seq INTO v_name, v_until FROM public.log_partitions() p LIMIT 1;
  SELECT last_value INTO v_last FROM public.order_updates_seq;
  -- A partition that may still get rows stays.
  IF v_name IS NULL OR v_until > v_last OR NOT EXISTS (SELECT FROM public.lanes) THEN
    RETURN NULL;
  END IF;
  EXECUTE format('SELECT max(u.recorded_at) FROM public.lanes l CROSS JOIN LATERAL (
    SELECT recorded_at FROM public.%I p WHERE p.lane = l.lane ORDER BY p.seq DESC LIMIT 1) AS u', v_name) INTO v_newest;
  IF v_newest > clock_timestamp() - p_retention THEN
    RETURN NULL;
  END IF;
  -- A cursor that never saved a position has passed nothing. The lock waits for a batch that has rows here and is not committed: it would not be seen.
  FOR v IN
    SELECT l.lane, min(coalesce(r.seq, 0)) AS passed
    FROM public.lanes l CROSS JOIN (VALUES ('log'), ('state')) AS c(cursor)
    LEFT JOIN public.relay_positions r ON r.lane = l.lane AND r.cursor = c.cursor
    GROUP BY l.lane HAVING min(coalesce(r.seq, 0)) < v_until - 1
  LOOP
    EXECUTE format('LOCK TABLE public.%I IN SHARE MODE', v_name);
    EXECUTE format('SELECT EXISTS (SELECT FROM public.%I WHERE lane = $1 AND seq > $2)', v_name) INTO v_kept USING v.lane, v.passed;
    IF v_kept THEN
      RETURN NULL;
    END IF;
  END LOOP;
  v_held := public.log_holders(v_name);
  PERFORM pg_sleep(0.3);
  IF v_held && public.log_holders(v_name) THEN
    RETURN NULL;
  END IF;
  EXECUTE format('DROP TABLE public.%I', v_name);
  RETURN v_name;
END
$$;
