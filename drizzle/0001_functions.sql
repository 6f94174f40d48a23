-- The rules of the lane, the batch and the log's partitions. All run as their owner with a fixed search_path: the service calls them, and may not
-- write orders or the log in any other way.

-- Moves the lane's batch number from n - 1 to n where the epoch still holds. The row lock that it takes until the end of the transaction makes
-- the order of seq the order of commit. TM001: the epoch is lost, stand by. TM002: a batch before this one failed.
CREATE FUNCTION public.enter_lane(p_lane integer, p_epoch bigint, p_number bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_epoch bigint;
  v_batch bigint;
BEGIN
  UPDATE public.lanes SET batch = p_number, renewed_at = clock_timestamp()
  WHERE lane = p_lane AND epoch = p_epoch AND batch = p_number - 1;
  IF FOUND THEN
    RETURN;
  END IF;
  SELECT epoch, batch INTO v_epoch, v_batch FROM public.lanes WHERE lane = p_lane;
  IF v_epoch IS NOT DISTINCT FROM p_epoch THEN
    RAISE EXCEPTION 'lane % has committed batch %, so % can''t follow', p_lane, v_batch, p_number USING ERRCODE = 'TM002';
  END IF;
  RAISE EXCEPTION 'lane % is at epoch %, not %', p_lane, v_epoch, p_epoch USING ERRCODE = 'TM001';
END
$$;
--> statement-breakpoint
-- One batch, whole or not at all. Volatile: each statement inside takes its own snapshot, so what follows enter_lane sees all that came before it.
-- Arrays run beside each other: h_* one newest state per order, u_* the log rows in order of acceptance, q_* what could not be taken.
-- Returns the seq of the last log row, null when there is none.
CREATE FUNCTION public.apply_batch(
  p_lane integer, p_epoch bigint, p_number bigint,
  h_stream text[], h_order_id text[], h_account_id text[], h_symbol text[], h_status text[],
  h_revision bigint[], h_source_version bigint[], h_state json[], h_join_state json[],
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

  -- A revision that would fall means that the caller reduced against an old head: refuse all of it, it must read the heads again.
  IF cardinality(h_stream) > 0 THEN
    INSERT INTO public.orders AS o (stream, order_id, lane, account_id, symbol, status, revision, source_version, state, join_state)
    SELECT h.stream, h.order_id, p_lane, h.account_id, h.symbol, h.status, h.revision, h.source_version, h.state, h.join_state
    FROM unnest(h_stream, h_order_id, h_account_id, h_symbol, h_status, h_revision, h_source_version, h_state, h_join_state)
      AS h(stream, order_id, account_id, symbol, status, revision, source_version, state, join_state)
    ON CONFLICT (stream, order_id) DO UPDATE SET
      status = excluded.status, revision = excluded.revision, source_version = excluded.source_version,
      state = excluded.state, join_state = excluded.join_state, updated_at = excluded.updated_at
    WHERE o.revision <= excluded.revision;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    IF v_rows <> cardinality(h_stream) THEN
      RAISE EXCEPTION '% of % heads are older than what is stored', cardinality(h_stream) - v_rows, cardinality(h_stream)
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
--> statement-breakpoint
-- The log's partitions with their bounds [from_seq, until_seq), lowest first. The catalog is the only book that can't be wrong about them.
CREATE FUNCTION public.log_partitions() RETURNS TABLE (name text, from_seq bigint, until_seq bigint)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT c.relname::text,
    substring(pg_get_expr(c.relpartbound, c.oid) FROM 'FROM \(''?(\d+)')::bigint,
    substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''?(\d+)')::bigint
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = 'public.order_updates'::regclass
  ORDER BY 2
$$;
--> statement-breakpoint
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
--> statement-breakpoint
-- Drops the oldest partition when its newest row is older than p_retention and every cursor of every lane has passed it; returns its name, or null.
-- One at a time, and with a short wait for its lock: DROP excludes everybody from the log, and whoever comes after it queues behind it.
CREATE FUNCTION public.drop_log_partition(p_retention interval) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '250ms' AS $$
DECLARE
  v_name text;
  v_until bigint;
  v_passed bigint;
  v_newest timestamptz;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('tidemark'), hashtext('log_partitions'));
  SELECT p.name, p.until_seq INTO v_name, v_until FROM public.log_partitions() p LIMIT 1;
  -- A cursor that never saved a position has passed nothing.
  SELECT min(coalesce(r.seq, 0)) INTO v_passed
  FROM public.lanes l CROSS JOIN (VALUES ('log'), ('state')) AS c(cursor)
  LEFT JOIN public.relay_positions r ON r.lane = l.lane AND r.cursor = c.cursor;
  IF v_name IS NULL OR v_passed IS NULL OR v_until > v_passed THEN
    RETURN NULL;
  END IF;
  EXECUTE format('SELECT recorded_at FROM public.%I ORDER BY seq DESC LIMIT 1', v_name) INTO v_newest;
  IF v_newest > clock_timestamp() - p_retention THEN
    RETURN NULL;
  END IF;
  EXECUTE format('DROP TABLE public.%I', v_name);
  RETURN v_name;
END
$$;
