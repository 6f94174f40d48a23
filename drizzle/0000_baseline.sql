-- The whole schema: tables, then the functions and triggers that hold their rules, subject by subject, and at the end what each role may do.
-- Every function runs with a fixed search_path. Those that write orders and the log run as their owner: the service calls them, and may not write there in any other way.
-- Errors of our own: TM001 the lane's epoch is lost, stand by · TM002 a batch before this one failed · TM003 a head is older than what is stored ·
-- TM010 a write that the journal's rules forbid · TM011 a later holder has taken over the journal · TM012 there is no such command.

-- Until a function is granted below, only its owner may call it.
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;

-- ----- Lanes -----

CREATE TABLE public.lanes (
  lane integer PRIMARY KEY,
  holder text,
  epoch bigint NOT NULL,
  renewed_at timestamptz NOT NULL,
  generation integer DEFAULT 1 NOT NULL,
  held_since timestamptz DEFAULT now() NOT NULL,
  drained boolean DEFAULT false NOT NULL,
  address text,
  weight double precision DEFAULT 0 NOT NULL,
  version text,
  draining boolean DEFAULT false NOT NULL,
  trouble text,
  unfit boolean DEFAULT false NOT NULL,
  halts_held bigint DEFAULT 0 NOT NULL,
  report jsonb DEFAULT '{}' NOT NULL
);

-- `lane` is no foreign key: its check would share a lock on the lane's row with a batch, and `xmax` would then be no transaction (src/store/orders/read-stream.ts).
CREATE TABLE public.shards (
  shard integer PRIMARY KEY,
  lane integer,
  epoch bigint DEFAULT 0 NOT NULL,
  pinned boolean DEFAULT false NOT NULL,
  since timestamptz DEFAULT now() NOT NULL
);

-- The number of each lane's last committed batch, in one row; none before the first. The number is in the key, because each batch makes a new version of the row, and
-- an open snapshot (a backup) keeps all old ones: a batch looks for its number, and finds one version however many there are.
CREATE TABLE public.lane_batches (
  lane integer NOT NULL,
  batch bigint NOT NULL,
  CONSTRAINT lane_batches_lane_batch_pk PRIMARY KEY (lane, batch)
);

-- The number of the lane's last committed batch; 0 before the first. Volatile: it sees what was committed while its caller waited for the lane's row. The newest version
-- is the last of the index. Without sequential scans: a plan made while the table had one page would read all dead versions later.
CREATE FUNCTION public.lane_batch(p_lane integer) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
BEGIN
  RETURN coalesce((SELECT b.batch FROM public.lane_batches b WHERE b.lane = p_lane ORDER BY b.batch DESC LIMIT 1), 0);
END
$$;

-- Moves the lane's batch number from n - 1 to n where the epoch still holds. The row lock that it takes until the end of the transaction makes
-- the order of seq the order of commit. It is a lock and no update, so it leaves no dead version of the lane's row. The number is looked at in a statement after it, which sees
-- every batch before this one. TM001: the epoch is lost, stand by. TM002: a batch before this one failed.
CREATE FUNCTION public.enter_lane(p_lane integer, p_epoch bigint, p_number bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
  v_renewed_at timestamptz;
BEGIN
  SELECT renewed_at INTO v_renewed_at FROM public.lanes WHERE lane = p_lane AND epoch = p_epoch FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'lane % is at epoch %, not %', p_lane, (SELECT epoch FROM public.lanes WHERE lane = p_lane), p_epoch USING ERRCODE = 'TM001';
  END IF;
  UPDATE public.lane_batches SET batch = p_number WHERE lane = p_lane AND batch = p_number - 1;
  IF NOT FOUND THEN
    -- The lane's first batch makes the row.
    INSERT INTO public.lane_batches (lane, batch) SELECT p_lane, p_number
    WHERE p_number = 1 AND NOT EXISTS (SELECT FROM public.lane_batches WHERE lane = p_lane);
    IF NOT FOUND THEN
      RAISE EXCEPTION 'lane % has committed batch %, so % can''t follow', p_lane, public.lane_batch(p_lane), p_number USING ERRCODE = 'TM002';
    END IF;
  END IF;
  -- The holder renews the lease every 2 s. A batch does so only where that fails.
  IF v_renewed_at < clock_timestamp() - interval '3 seconds' THEN
    UPDATE public.lanes SET renewed_at = clock_timestamp() WHERE lane = p_lane;
  END IF;
END
$$;

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

-- ----- Accounts, credentials, repair -----

-- Generated, and edited by hand in three places that drizzle can't say: the sequence, PARTITION BY on order_updates, and the fillfactor of orders.
CREATE TABLE public.accounts (
  stream text NOT NULL,
  account_id text NOT NULL,
  is_sim boolean NOT NULL,
  source_epoch integer NOT NULL,
  read_up_to text,
  audited_up_to text,
  updated_at timestamptz DEFAULT now() NOT NULL,
  CONSTRAINT accounts_stream_account_id_pk PRIMARY KEY (stream, account_id)
);

CREATE TABLE public.credentials (
  credential text PRIMARY KEY,
  generation bigint DEFAULT 0 NOT NULL,
  sealed bytea,
  claimed_by text,
  claimed_until timestamptz,
  updated_at timestamptz DEFAULT now() NOT NULL
);

CREATE TABLE public.quarantine_jobs (
  job_id uuid PRIMARY KEY,
  action text NOT NULL,
  filter json NOT NULL,
  accounts text[],
  reason text NOT NULL,
  asked_by text NOT NULL,
  request_id text NOT NULL,
  asked_at timestamptz DEFAULT now() NOT NULL,
  ended_at timestamptz,
  cancelled_by text,
  CONSTRAINT quarantine_jobs_action CHECK (action IN ('retry', 'discard')),
  CONSTRAINT quarantine_jobs_reason CHECK (reason <> ''),
  CONSTRAINT quarantine_jobs_cancelled CHECK (cancelled_by IS NULL OR ended_at IS NOT NULL)
);

CREATE INDEX quarantine_jobs_asked ON public.quarantine_jobs (asked_at);

CREATE TABLE public.repair_requests (
  id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  kind text NOT NULL,
  stream text NOT NULL,
  account_id text,
  quarantine_id bigint,
  job_id uuid REFERENCES public.quarantine_jobs ON DELETE CASCADE,
  since timestamptz,
  asked_by text,
  reason text,
  requested_at timestamptz DEFAULT now() NOT NULL,
  answered_at timestamptz,
  outcome text,
  detail text,
  CONSTRAINT repair_requests_kind CHECK (
    kind IN ('read', 'backfill') AND quarantine_id IS NULL AND job_id IS NULL
    OR kind = 'retry' AND quarantine_id IS NOT NULL
    OR kind = 'discard' AND quarantine_id IS NOT NULL AND job_id IS NOT NULL),
  CONSTRAINT repair_requests_account CHECK (account_id IS NOT NULL OR job_id IS NOT NULL),
  CONSTRAINT repair_requests_since CHECK (since IS NULL OR kind = 'backfill'),
  CONSTRAINT repair_requests_answer CHECK (num_nulls(answered_at, outcome) IN (0, 2) AND outcome IN ('done', 'failed', 'withdrawn'))
);

CREATE INDEX repair_requests_open ON public.repair_requests (id) WHERE answered_at is null;
CREATE INDEX repair_requests_by_job ON public.repair_requests (job_id, outcome) WHERE job_id is not null;
CREATE INDEX repair_requests_by_row ON public.repair_requests (quarantine_id) WHERE quarantine_id is not null;

-- ----- Commands -----

CREATE TABLE public.commands (
  command_id uuid PRIMARY KEY,
  shard integer NOT NULL,
  principal text NOT NULL,
  idempotency_key text NOT NULL,
  key_held boolean DEFAULT true NOT NULL,
  request_hash text NOT NULL,
  kind text NOT NULL,
  stream text NOT NULL,
  account_id text NOT NULL,
  symbol text,
  side text,
  request json NOT NULL,
  caller_ref text,
  supersedes uuid,
  state text NOT NULL,
  version integer NOT NULL,
  order_id text,
  reason json,
  presumed_absent boolean DEFAULT false NOT NULL,
  pending_revision bigint,
  pending_version bigint,
  misses integer DEFAULT 0 NOT NULL,
  baseline json,
  exposure numeric,
  limits_change bigint DEFAULT 0 NOT NULL,
  token_number integer,
  deadline_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  settled_at timestamptz,
  CONSTRAINT commands_kind CHECK (kind in ('place', 'replace', 'cancel')),
  CONSTRAINT commands_stream CHECK (stream in ('account', 'prediction')),
  CONSTRAINT commands_state CHECK (state in ('open', 'refused', 'not_sent', 'accepted', 'unknown', 'applied', 'rejected', 'moot', 'conflict')),
  CONSTRAINT commands_settled_is_final CHECK ((settled_at is not null) = (state in ('refused', 'not_sent', 'applied', 'rejected', 'moot'))),
  CONSTRAINT commands_absence_is_of_unknown CHECK (not presumed_absent or state = 'unknown'),
  CONSTRAINT commands_place_has_terms CHECK (kind <> 'place' or (symbol is not null and side is not null)),
  CONSTRAINT commands_of_an_order_name_it CHECK (kind = 'place' or order_id is not null),
  CONSTRAINT commands_no_cancel_supersedes CHECK (supersedes is null or kind <> 'cancel'),
  CONSTRAINT commands_counts CHECK (version > 0 and misses >= 0)
);

CREATE UNIQUE INDEX commands_one_per_key ON public.commands (principal, idempotency_key) WHERE key_held;
CREATE UNIQUE INDEX commands_one_place_per_order ON public.commands (stream, order_id) WHERE kind = 'place' and order_id is not null;
CREATE INDEX commands_successors ON public.commands (supersedes) WHERE supersedes is not null;
CREATE INDEX commands_newest ON public.commands (created_at, command_id);
CREATE INDEX commands_by_account ON public.commands (account_id, created_at, command_id);
CREATE INDEX commands_by_key ON public.commands (idempotency_key);
CREATE INDEX commands_by_caller_ref ON public.commands (caller_ref, principal) WHERE caller_ref IS NOT NULL;
CREATE INDEX commands_not_final ON public.commands (account_id, created_at) WHERE settled_at is null;
CREATE INDEX commands_key_held ON public.commands (created_at) WHERE key_held;
CREATE INDEX commands_settled ON public.commands (settled_at) WHERE settled_at is not null;
CREATE INDEX commands_of_order ON public.commands (stream, order_id) WHERE kind <> 'place';
CREATE INDEX commands_came_to_nothing ON public.commands (shard, command_id) WHERE kind = 'place' and settled_at is not null and (order_id is null or state <> 'applied');

CREATE TABLE public.attempts (
  attempt_id text PRIMARY KEY,
  command_id uuid NOT NULL CONSTRAINT attempts_command_id_commands_command_id_fk REFERENCES public.commands (command_id),
  number integer NOT NULL,
  state text NOT NULL,
  epoch bigint NOT NULL,
  prepared_at timestamptz NOT NULL,
  sending_at timestamptz,
  answered_at timestamptz,
  reason json,
  CONSTRAINT attempts_id CHECK (starts_with(attempt_id, 'tm-') and length(attempt_id) <= 64),
  CONSTRAINT attempts_state CHECK (state in ('prepared', 'sending', 'not_sent', 'refused', 'rejected', 'accepted', 'unknown')),
  CONSTRAINT attempts_number CHECK (number > 0)
);

CREATE UNIQUE INDEX attempts_numbered ON public.attempts (command_id, number);
CREATE UNIQUE INDEX attempts_one_in_doubt ON public.attempts (command_id) WHERE state not in ('not_sent', 'refused');
CREATE INDEX attempts_in_flight ON public.attempts (epoch) WHERE state in ('prepared', 'sending');

CREATE TABLE public.evidence (
  command_id uuid NOT NULL CONSTRAINT evidence_command_id_commands_command_id_fk REFERENCES public.commands (command_id),
  number integer NOT NULL,
  kind text NOT NULL,
  code text NOT NULL,
  detail json NOT NULL,
  attempt_id text,
  at timestamptz NOT NULL,
  recorded_at timestamptz DEFAULT now() NOT NULL,
  CONSTRAINT evidence_command_id_number_pk PRIMARY KEY (command_id, number),
  CONSTRAINT evidence_kind CHECK (kind in ('answer', 'update', 'read', 'note', 'person')),
  CONSTRAINT evidence_number CHECK (number > 0)
);

CREATE TABLE public.command_events (
  id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  command_id uuid NOT NULL CONSTRAINT command_events_command_id_commands_command_id_fk REFERENCES public.commands (command_id),
  version integer NOT NULL,
  snapshot json NOT NULL,
  recorded_at timestamptz DEFAULT now() NOT NULL,
  published_at timestamptz,
  tx_id xid8 DEFAULT pg_current_xact_id() NOT NULL
);

CREATE UNIQUE INDEX command_events_versions ON public.command_events (command_id, version);
CREATE INDEX command_events_unpublished ON public.command_events (id) WHERE published_at is null;
CREATE INDEX command_events_in_order ON public.command_events (tx_id, id);

-- Events up to this transaction were deleted: a reader of the stream that stands there cannot go on. At most one row.
CREATE TABLE public.event_floor (
  one boolean PRIMARY KEY DEFAULT true NOT NULL,
  tx_id xid8 NOT NULL,
  CONSTRAINT event_floor_one CHECK (one)
);

CREATE TABLE public.command_fence (
  shard integer PRIMARY KEY,
  epoch bigint NOT NULL
);

-- ----- The journal of commands -----
-- These functions run as their caller, who may write the tables. Triggers and constraints refuse all that no caller may do, so they refuse it to the owner and to people
-- as well.

-- These two are of a volatility that lets the planner put their text in their place. Everything longer is plpgsql, which keeps its plans: a function in SQL is
-- planned again by each statement that calls it.
CREATE FUNCTION public.ms_to_time(p_ms double precision) RETURNS timestamptz
LANGUAGE sql IMMUTABLE AS $$ SELECT to_timestamp(p_ms / 1000) $$;

CREATE FUNCTION public.time_to_ms(p_at timestamptz) RETURNS bigint
LANGUAGE sql STABLE AS $$ SELECT round(extract(epoch FROM p_at) * 1000)::bigint $$;

-- A command with its attempts, in the names of domain/command.ts. 64-bit numbers are text, absent values are null at the top level of each object.
CREATE FUNCTION public.command_json(c public.commands) RETURNS json
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN json_build_object(
    'commandId', c.command_id, 'shard', c.shard, 'principal', c.principal, 'idempotencyKey', c.idempotency_key, 'requestHash', c.request_hash,
    'request', c.request, 'callerRef', c.caller_ref, 'supersedes', c.supersedes, 'state', c.state, 'version', c.version, 'orderId', c.order_id,
    -- Only for an order of the same account: a cancel may name any order, and its answer must not show those of others.
    'orderStatus', (SELECT o.status FROM public.orders o WHERE o.stream = c.stream AND o.order_id = c.order_id AND o.account_id = c.account_id),
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

-- True: the journal is this holder's until the end of the transaction. Equal, not "at least": a holder writes only after it has swept.
CREATE FUNCTION public.hold_command_fence(p_shard integer, p_epoch bigint) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM FROM public.command_fence f WHERE f.shard = p_shard AND f.epoch = p_epoch FOR SHARE;
  RETURN FOUND;
END
$$;

-- Appends evidence. Its callers have locked the command's row, so numbers neither collide nor leave holes.
CREATE FUNCTION public.append_evidence(p_command_id uuid, p_evidence json) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO public.evidence (command_id, number, kind, code, detail, attempt_id, at)
  SELECT p_command_id, (SELECT coalesce(max(number), 0) FROM public.evidence WHERE command_id = p_command_id) + e.place,
    e.fact ->> 'kind', e.fact ->> 'code', e.fact -> 'detail', e.fact ->> 'attemptId', public.ms_to_time((e.fact ->> 'atMs')::double precision)
  FROM json_array_elements(p_evidence) WITH ORDINALITY AS e(fact, place);
END
$$;

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

-- Whether another command took the place of this one. `not_sent` and `refused` are final, and nothing of them is ever sent again; any other state was sent, or may be.
-- A place that superseded another and placed nothing gives the right to supersede back. No unique index can hold this rule: an order of a successor that seemed to place
-- nothing may land after all, and must be recorded whatever was placed since. So the rule is checked where a command begins.
CREATE FUNCTION public.is_superseded(p_command_id uuid) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN EXISTS (SELECT FROM public.commands WHERE supersedes = p_command_id AND state NOT IN ('not_sent', 'refused'));
END
$$;

-- ----- Actions that need a second principal -----

-- `action` is an OperatorAction (store/commands/command-journal.ts), as it was asked for. `account_id` null: it concerns every account.
CREATE TABLE public.approvals (
  approval_id uuid PRIMARY KEY,
  action json NOT NULL,
  account_id text,
  requested_by text NOT NULL,
  reason text NOT NULL,
  request_id text NOT NULL,
  requested_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  approved_by text,
  approved_reason text,
  approved_at timestamptz,
  CONSTRAINT approvals_two_principals CHECK (approved_by <> requested_by),
  CONSTRAINT approvals_in_time CHECK (num_nulls(approved_by, approved_reason, approved_at) in (0, 3) and (approved_at is null or approved_at < expires_at))
);

CREATE INDEX approvals_waiting ON public.approvals (expires_at) WHERE approved_at is null;

CREATE FUNCTION public.approvals_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF OLD.approved_at IS NOT NULL OR
    (OLD.approval_id, OLD.action::text, OLD.account_id, OLD.requested_by, OLD.reason, OLD.request_id, OLD.requested_at, OLD.expires_at) IS DISTINCT FROM
    (NEW.approval_id, NEW.action::text, NEW.account_id, NEW.requested_by, NEW.reason, NEW.request_id, NEW.requested_at, NEW.expires_at)
  THEN
    RAISE EXCEPTION 'request % is approved once, and never changed otherwise', OLD.approval_id USING ERRCODE = 'TM010';
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER approvals_guard BEFORE UPDATE ON public.approvals FOR EACH ROW EXECUTE FUNCTION public.approvals_guard();

-- ----- Limits before a command is journaled -----

-- The bounds of one scope; null is every principal, every account. `bounds` is Bounds of domain/limits.ts. A row without bounds is deleted; its history is in the audit trail.
CREATE TABLE public.limits (
  limits_id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  principal text,
  account_id text,
  bounds jsonb NOT NULL,
  changed_by text NOT NULL,
  reason text NOT NULL,
  changed_at timestamptz NOT NULL,
  change bigint GENERATED ALWAYS AS IDENTITY,
  CONSTRAINT limits_scope CHECK (principal <> '' and account_id <> ''),
  CONSTRAINT limits_bounds CHECK (jsonb_typeof(bounds) = 'object' and bounds <> '{}')
);

CREATE UNIQUE INDEX limits_one_per_scope ON public.limits (coalesce(principal, ''), coalesce(account_id, ''));
CREATE UNIQUE INDEX limits_change ON public.limits (change);

-- A LimitReading of domain/limits.ts. Broken without a value: it can't be computed.
CREATE FUNCTION public.limit_reading(p_limit text, p_bound text, p_broken boolean, p_value text, p_why text DEFAULT NULL, p_needs_quote boolean DEFAULT NULL) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN json_strip_nulls(json_build_object('limit', p_limit, 'bound', p_bound, 'broken', p_broken, 'value', p_value, 'why', p_why, 'needsQuote', p_needs_quote));
END
$$;

-- The one form of a symbol, as `canonicalSymbol` makes it (domain/symbol.ts): upper case, no blanks around it, an option compact.
CREATE FUNCTION public.canonical_symbol(p_symbol text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(upper(btrim(p_symbol)), '^(?:O:)?([A-Z0-9.]{1,6}) *([0-9]{6}[CP][0-9]{8})$', E'\\1\\2');

-- What a reader's symbol is compared by, as `symbolLetters` makes it (domain/symbol.ts): the one form without blanks and signs; signs alone stay.
CREATE FUNCTION public.symbol_letters(p_symbol text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(nullif(translate(public.canonical_symbol(p_symbol), ' !"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', ''), ''), public.canonical_symbol(p_symbol));

-- What limits know a symbol by: an option by its root.
CREATE FUNCTION public.underlying_symbol(p_symbol text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(upper(btrim(p_symbol)), '^(?:O:)?([A-Z0-9.]{1,6}) *[0-9]{6}[CP][0-9]{8}$', E'\\1');

-- Money at work in an account, or in one symbol of it: open orders and commands that may have placed one, both sides added up. One statement, so one snapshot: an order
-- and the command that placed it, which ingest binds in one transaction, are counted once. `unvalued` names one whose value is not known.
CREATE FUNCTION public.exposure_of(p_account text, p_symbol text, OUT amount numeric, OUT unvalued text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  SELECT coalesce(sum(e.value), 0), min(e.name) FILTER (WHERE e.value IS NULL) INTO amount, unvalued
  FROM (
    SELECT 'order ' || o.order_id AS name, CASE
      WHEN s."leavesQty" = 0 THEN 0
      -- As `measureCommand` values them: a buy of a prediction at its price, anything else at the most a contract can be worth.
      WHEN o.stream = 'prediction' THEN s."leavesQty" * CASE WHEN lower(s.side) = 'buy' THEN coalesce((s.working ->> 'price')::numeric, s.price, 1) ELSE 1 END
      -- The net price of several legs bounds a purchase alone, and only above zero (as `isCapped` of domain/measure-command.ts says).
      WHEN u.legs > 1 AND c.exposure IS NULL AND (lower(s.side) LIKE 'buy%' AND coalesce((s.working ->> 'price')::numeric, s.price) > 0) IS NOT TRUE THEN NULL
      -- A price of its own, or what it was valued at when it was placed here.
      ELSE s."leavesQty" * greatest(
        abs(coalesce((s.working ->> 'price')::numeric, s.price)) * u.shares, abs(s."stopPrice") * u.shares,
        c.exposure / nullif((c.request -> 'terms' ->> 'qty')::numeric, 0))
      END AS value
    FROM unnest(ARRAY['account', 'prediction']) AS k(stream)
    JOIN public.orders o ON o.account_id = p_account AND o.stream = k.stream AND o.is_open
    CROSS JOIN LATERAL json_to_record(o.state) AS s(instrument json, side text, price numeric, "stopPrice" numeric, working json, "leavesQty" numeric)
    CROSS JOIN LATERAL (SELECT json_array_length(coalesce(s.instrument -> 'legs', '[]')), CASE
      WHEN s.instrument ->> 'kind' <> 'option' THEN 1
      WHEN json_array_length(coalesce(s.instrument -> 'legs', '[]')) = 1 THEN 100 * ceil((s.instrument -> 'legs' -> 0 ->> 'ratioQty')::numeric)
      ELSE 100 END) AS u(legs, shares)
    LEFT JOIN public.order_bindings b ON b.stream = o.stream AND b.order_id = o.order_id
    LEFT JOIN public.commands c ON c.command_id = b.command_id
    WHERE p_symbol IS NULL OR public.underlying_symbol(o.symbol) = p_symbol
    UNION ALL
    SELECT 'command ' || c.command_id, c.exposure
    FROM public.commands c
    WHERE c.account_id = p_account AND c.settled_at IS NULL AND c.kind <> 'cancel'
      AND (c.kind = 'replace' OR NOT EXISTS (SELECT FROM public.order_bindings b WHERE b.command_id = c.command_id))
      AND (p_symbol IS NULL OR p_symbol = public.underlying_symbol(coalesce(c.symbol,
        (SELECT o.symbol FROM public.orders o WHERE o.stream = c.stream AND o.order_id = c.order_id))))
  ) AS e;
END
$$;

-- What the limits say of a place or a replace, in the order in which they are judged: each a LimitReading of domain/limits.ts. `p` is a NewCommand. Every row that matches
-- holds, so the tightest value of each bound counts. `p_all`: every limit that applies, in one look that locks nothing; otherwise it ends with the first that is broken.
CREATE FUNCTION public.weigh_limits(p json, p_all boolean) RETURNS SETOF json
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
    WHERE c.account_id = v_account AND c.kind = 'place' AND c.symbol = p -> 'request' -> 'terms' ->> 'symbol' AND c.state NOT IN ('not_sent', 'refused')
      AND c.command_id IS DISTINCT FROM (p ->> 'supersedes')::uuid AND c.request::jsonb = (p -> 'request')::jsonb
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
      + (SELECT count(*) FROM public.commands c WHERE c.account_id = v_account AND c.settled_at IS NULL AND c.kind = 'place'
        AND NOT EXISTS (SELECT FROM public.order_bindings ob WHERE ob.command_id = c.command_id)) INTO v_count;
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

-- The limit that a place or a replace breaks, or null. Limits that count commands and orders are judged by one transaction of an account at a time, to its end: so two
-- commands at once cannot both use the last free place.
CREATE FUNCTION public.judge_limits(p json) RETURNS json
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  SELECT (w::jsonb - 'broken')::json FROM public.weigh_limits(p, false) AS w LIMIT 1
$$;

-- Whoever forbids something (a halt, new limits, the end of a token) calls this in its transaction. It waits for the marks that are under way, and the later ones wait for
-- the commit and then see it. So nothing is marked as being sent after what forbids it was committed.
CREATE FUNCTION public.close_sending() RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  SELECT pg_advisory_xact_lock(hashtext('tidemark sending'), 0)
$$;

-- Sets the bounds of one scope, with its line of the audit trail, unless they have changed since the change was decided. `p` is a LimitsChange
-- (store/commands/command-journal.ts). Returns the id of that line. Null: they have changed, and nothing was written.
CREATE FUNCTION public.change_limits(p json) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v public.limits;
  v_before jsonb := p -> 'before';
  v_bounds jsonb := p -> 'bounds';
  v_at timestamptz := public.ms_to_time((p ->> 'atMs')::double precision);
  v_line bigint;
BEGIN
  SELECT * INTO v FROM public.limits
  WHERE coalesce(principal, '') = coalesce(p ->> 'principal', '') AND coalesce(account_id, '') = coalesce(p ->> 'accountId', '') FOR UPDATE;
  IF coalesce(v.bounds, '{}') <> v_before THEN
    RETURN NULL;
  END IF;
  PERFORM public.close_sending();
  IF v_bounds = '{}' THEN
    DELETE FROM public.limits WHERE limits_id = v.limits_id;
  ELSIF v.limits_id IS NOT NULL THEN
    UPDATE public.limits SET bounds = v_bounds, changed_by = p ->> 'by', reason = p ->> 'reason', changed_at = v_at, change = DEFAULT
    WHERE limits_id = v.limits_id;
  ELSE
    INSERT INTO public.limits (principal, account_id, bounds, changed_by, reason, changed_at)
    VALUES (p ->> 'principal', p ->> 'accountId', v_bounds, p ->> 'by', p ->> 'reason', v_at)
    ON CONFLICT (coalesce(principal, ''), coalesce(account_id, '')) DO NOTHING;
    IF NOT FOUND THEN
      RETURN NULL;
    END IF;
  END IF;
  INSERT INTO public.audit_log (at, principal, action, account_id, request_id, reason, detail)
  VALUES (v_at, p ->> 'by', 'change_limits', p ->> 'accountId', p ->> 'requestId', p ->> 'reason',
    json_strip_nulls(json_build_object('of', p ->> 'principal', 'approvedBy', p ->> 'approvedBy', 'before', v_before, 'after', v_bounds)))
  RETURNING id INTO v_line;
  RETURN v_line;
END
$$;

-- ----- What the journal is asked for -----

-- Writes down an act that waits for a second principal, with its line of the audit trail. `p` is an Approval (store/commands/command-journal.ts). The answer is the
-- request that waits: another one, where this principal waits for the same act already. No row: `p_most` of this principal wait already.
CREATE FUNCTION public.request_approval(p json, p_most integer) RETURNS SETOF public.approvals
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v public.approvals;
  v_by text := p ->> 'by';
  v_at timestamptz := public.ms_to_time((p ->> 'atMs')::double precision);
BEGIN
  -- One of a principal after the other: two at once would not see each other.
  PERFORM pg_advisory_xact_lock(hashtext('tidemark approvals'), hashtext(v_by));
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
    public.ms_to_time((p ->> 'expiresAtMs')::double precision))
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
-- If many come with one key at once, one inserts, and the others wait at the unique index and find it.
CREATE FUNCTION public.open_command(p_shard integer, p_epoch bigint, p json) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v public.commands;
  v_id uuid := p ->> 'commandId';
  v_at timestamptz := public.ms_to_time((p ->> 'atMs')::double precision);
  v_attempt text := p ->> 'attemptId';
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
      IF v.settled_at IS NULL OR v.created_at > v_at - interval '7 days' THEN
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
      supersedes, state, version, order_id, reason, baseline, exposure, limits_change, token_number, deadline_at, created_at, updated_at, settled_at)
    VALUES (v_id, p_shard, p ->> 'principal', p ->> 'idempotencyKey', p ->> 'requestHash', p -> 'request' ->> 'kind', p -> 'request' ->> 'stream',
      p -> 'request' ->> 'accountId', p -> 'request' -> 'terms' ->> 'symbol', p -> 'request' -> 'terms' ->> 'side', p -> 'request', p ->> 'callerRef',
      (p ->> 'supersedes')::uuid, CASE WHEN v_attempt IS NULL THEN 'refused' ELSE 'open' END, 1, coalesce(p ->> 'orderId', p -> 'request' ->> 'orderId'),
      p -> 'refusal', p -> 'baseline', (p -> 'measure' ->> 'exposure')::numeric, coalesce(v_change, 0), (p ->> 'tokenNumber')::integer,
      public.ms_to_time((p ->> 'deadlineAtMs')::double precision), v_at, v_at, CASE WHEN v_attempt IS NULL THEN v_at END)
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

-- Why this command may not be sent any more, as it is now: a Reason. Null: it may. The caller holds the shared lock of `close_sending`, so that each of these
-- statements, with a snapshot of its own, sees whatever was committed before. Nothing forbids a cancel.
CREATE FUNCTION public.sending_objection(c public.commands) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_cause text;
  v_why text;
BEGIN
  SELECT cause, reason INTO v_cause, v_why FROM public.halts
  WHERE cleared_at IS NULL AND coalesce(account_id, '') IN ('', c.account_id) ORDER BY number LIMIT 1;
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
  IF v.kind <> 'cancel' THEN
    -- Behind the locks of rows: a row that is held for long holds up no halt.
    PERFORM pg_advisory_xact_lock_shared(hashtext('tidemark sending'), 0);
    v_objection := public.sending_objection(v);
    IF v_objection IS NOT NULL THEN
      RETURN v_objection;
    END IF;
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

-- One step by compare-and-set on the version (and on the attempt's state, which `mark_sending` changes without a version). `p` is a CommandStep.
CREATE FUNCTION public.step_command(p_shard integer, p_epoch bigint, p json) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v public.commands;
  v_id uuid := p ->> 'commandId';
  v_to text := p ->> 'to';
  v_at timestamptz := public.ms_to_time((p ->> 'atMs')::double precision);
  v_attempt json := p -> 'attempt';
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

-- Under the fence, and only while the command is unknown at the version that the read was judged by. Returns as `step_command` does.
CREATE FUNCTION public.note_miss(p_shard integer, p_epoch bigint, p json) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v public.commands;
  v_id uuid := p ->> 'commandId';
BEGIN
  IF NOT public.hold_command_fence(p_shard, p_epoch) THEN
    RETURN json_build_object('kind', 'fenced');
  END IF;
  SELECT * INTO v FROM public.commands WHERE command_id = v_id AND shard = p_shard FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'there is no command %', v_id USING ERRCODE = 'TM012';
  END IF;
  IF v.version <> (p ->> 'version')::integer OR v.state <> 'unknown' THEN
    RETURN json_build_object('kind', 'stale', 'command', public.command_json(v));
  END IF;
  UPDATE public.commands SET misses = misses + 1 WHERE command_id = v_id RETURNING * INTO v;
  PERFORM public.append_evidence(v_id, json_build_array(p -> 'evidence'));
  RETURN json_build_object('kind', 'noted', 'command', public.command_json(v));
END
$$;

-- Raises the fence, which waits for every journal transaction of the former holder and shuts out the later ones. Then sweeps the attempts that it left: one that was
-- SENDING may have been written, one that was PREPARED was not. Returns how many commands it swept: those that were under way, so a few hundred at most.
-- Called again under the same epoch it sweeps nothing that this epoch prepared.
CREATE FUNCTION public.take_over_commands(p_shard integer, p_epoch bigint, p_at_ms double precision) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v public.commands;
  v_last public.attempts;
  v_was text;
  v_swept integer := 0;
  v_at timestamptz := public.ms_to_time(p_at_ms);
  v_reason json := json_build_object('code', 'TAKEN_OVER', 'message', 'the process that had it in hand is gone');
BEGIN
  INSERT INTO public.command_fence AS f (shard, epoch) VALUES (p_shard, p_epoch)
  ON CONFLICT (shard) DO UPDATE SET epoch = excluded.epoch WHERE f.epoch <= excluded.epoch;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'shard % was taken over by a later holder than epoch %', p_shard, p_epoch USING ERRCODE = 'TM011';
  END IF;

  FOR v IN
    SELECT * FROM public.commands c
    WHERE c.shard = p_shard AND c.command_id IN (
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
    -- A command that was settled before its answer came keeps its outcome; only its attempt changes.
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

-- ----- Cancel-all -----

-- The orders that a cancel-all is about, under its key: asked again, it is about these orders and no others. In force until `ended_at`.
CREATE TABLE public.cancel_alls (
  cancel_all_id uuid PRIMARY KEY,
  shard integer NOT NULL,
  principal text NOT NULL,
  idempotency_key text NOT NULL,
  key_held boolean DEFAULT true NOT NULL,
  request_hash text NOT NULL,
  selection json NOT NULL,
  reason text NOT NULL,
  on_landing text NOT NULL,
  orders json NOT NULL,
  places json NOT NULL,
  unread json NOT NULL,
  declined json NOT NULL,
  created_at timestamptz NOT NULL,
  ended_at timestamptz,
  CONSTRAINT cancel_alls_on_landing CHECK (on_landing in ('cancel', 'leave'))
);

CREATE UNIQUE INDEX cancel_alls_one_per_key ON public.cancel_alls (shard, principal, idempotency_key) WHERE key_held;
CREATE INDEX cancel_alls_key_held ON public.cancel_alls (created_at) WHERE key_held;
CREATE INDEX cancel_alls_in_force ON public.cancel_alls (shard, created_at) WHERE ended_at is null;

-- Like the key of a command, that of a cancel-all is held until it has ended and all its cancels are final, and seven days at least.
CREATE FUNCTION public.cancel_all_holds_key(c public.cancel_alls, p_at timestamptz) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN c.created_at > p_at - interval '7 days' OR c.ended_at IS NULL OR EXISTS (
    SELECT FROM public.commands m
    WHERE m.settled_at IS NULL AND m.principal = c.principal AND starts_with(m.idempotency_key, 'cancel-all:' || c.cancel_all_id || ':'));
END
$$;

-- Writes a cancel-all with its list, or returns the one that has the key already. `p` is a NewCancelAll (store/commands/command-journal.ts).
CREATE FUNCTION public.open_cancel_all(p_shard integer, p_epoch bigint, p json) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v public.cancel_alls;
  v_at timestamptz := public.ms_to_time((p ->> 'atMs')::double precision);
BEGIN
  IF NOT public.hold_command_fence(p_shard, p_epoch) THEN
    RETURN json_build_object('kind', 'fenced');
  END IF;
  LOOP
    SELECT * INTO v FROM public.cancel_alls WHERE shard = p_shard AND principal = p ->> 'principal' AND idempotency_key = p ->> 'idempotencyKey' AND key_held;
    IF FOUND THEN
      IF public.cancel_all_holds_key(v, v_at) THEN
        IF v.request_hash = p ->> 'requestHash' THEN
          RETURN json_build_object('kind', 'replayed', 'cancelAll', public.cancel_all_json(v));
        END IF;
        RETURN json_build_object('kind', 'key_reused');
      END IF;
      UPDATE public.cancel_alls SET key_held = false WHERE cancel_all_id = v.cancel_all_id AND key_held;
    END IF;
    INSERT INTO public.cancel_alls (cancel_all_id, shard, principal, idempotency_key, request_hash, selection, reason, on_landing, orders, places, unread,
      declined, created_at)
    VALUES ((p ->> 'cancelAllId')::uuid, p_shard, p ->> 'principal', p ->> 'idempotencyKey', p ->> 'requestHash', p -> 'selection', p ->> 'reason',
      p ->> 'onLanding', p -> 'orders', p -> 'places', p -> 'unread', p -> 'declined', v_at)
    ON CONFLICT (shard, principal, idempotency_key) WHERE key_held DO NOTHING
    RETURNING * INTO v;
    EXIT WHEN FOUND;
  END LOOP;
  RETURN json_build_object('kind', 'opened', 'cancelAll', public.cancel_all_json(v));
END
$$;

CREATE FUNCTION public.cancel_all_json(c public.cancel_alls) RETURNS json
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN json_build_object('cancelAllId', c.cancel_all_id, 'principal', c.principal, 'idempotencyKey', c.idempotency_key, 'requestHash', c.request_hash,
    'selection', c.selection, 'reason', c.reason, 'onLanding', c.on_landing, 'orders', c.orders, 'places', c.places, 'unread', c.unread,
    'declined', c.declined, 'atMs', public.time_to_ms(c.created_at));
END
$$;

-- Ends it, once only. False: fenced.
CREATE FUNCTION public.end_cancel_all(p_shard integer, p_epoch bigint, p_cancel_all_id uuid, p_at_ms double precision) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT public.hold_command_fence(p_shard, p_epoch) THEN
    RETURN false;
  END IF;
  UPDATE public.cancel_alls SET ended_at = public.ms_to_time(p_at_ms) WHERE cancel_all_id = p_cancel_all_id AND ended_at IS NULL;
  RETURN true;
END
$$;

-- ----- Dead man's switch -----

-- One timer for each principal and account of a shard. When it has run out and was not ended, the holder of the shard cancels the account's orders. Only the database's
-- clock counts, so it does not matter which process is asked.
CREATE TABLE public.cancel_timers (
  shard integer NOT NULL,
  principal text NOT NULL,
  account_id text NOT NULL,
  timer_id uuid NOT NULL,
  fires_at timestamptz NOT NULL,
  ended_at timestamptz,
  changes integer DEFAULT 1 NOT NULL,
  CONSTRAINT cancel_timers_pk PRIMARY KEY (shard, principal, account_id),
  CONSTRAINT cancel_timers_account CHECK (account_id <> '')
);

-- Arms or renews the timers of these accounts; with `afterMs` 0 it ends them. Returns when they run out, in milliseconds, and one of the timers that it changed, with the
-- number of its changes; null: fenced.
CREATE FUNCTION public.set_cancel_timers(p_shard integer, p_epoch bigint, p json) RETURNS json
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
    SELECT json_build_object('shard', t.shard, 'principal', t.principal, 'accountId', t.account_id, 'changes', t.changes) INTO v_changed FROM ended t LIMIT 1;
  ELSE
    WITH armed AS (
      INSERT INTO public.cancel_timers AS t (shard, principal, account_id, timer_id, fires_at)
      SELECT p_shard, p ->> 'principal', e ->> 'accountId', (e ->> 'timerId')::uuid, v_fires FROM json_array_elements(p -> 'timers') e
      ON CONFLICT (shard, principal, account_id)
      DO UPDATE SET timer_id = excluded.timer_id, fires_at = excluded.fires_at, ended_at = NULL, changes = t.changes + 1
      RETURNING t.*
    )
    SELECT json_build_object('shard', t.shard, 'principal', t.principal, 'accountId', t.account_id, 'changes', t.changes) INTO v_changed FROM armed t LIMIT 1;
  END IF;
  RETURN json_build_object('firesAtMs', public.time_to_ms(v_fires), 'changed', v_changed);
END
$$;

-- Ends a timer that has fired, with its cancel-all written down. No effect where it was renewed since; false: fenced.
CREATE FUNCTION public.end_cancel_timer(p_shard integer, p_epoch bigint, p_timer_id uuid) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT public.hold_command_fence(p_shard, p_epoch) THEN
    RETURN false;
  END IF;
  UPDATE public.cancel_timers SET ended_at = clock_timestamp() WHERE shard = p_shard AND timer_id = p_timer_id AND ended_at IS NULL;
  RETURN true;
END
$$;

-- ----- Halts -----

CREATE TABLE public.halts (
  halt_id text PRIMARY KEY,
  account_id text,
  cause text NOT NULL,
  reason text NOT NULL,
  raised_by text NOT NULL,
  since timestamptz NOT NULL,
  cleared_at timestamptz,
  cleared_by text,
  cleared_reason text,
  number bigint GENERATED ALWAYS AS IDENTITY,
  CONSTRAINT halts_account CHECK (account_id <> ''),
  CONSTRAINT halts_cleared_with_a_reason CHECK (num_nulls(cleared_at, cleared_by, cleared_reason) in (0, 3) and cleared_reason <> '')
);

CREATE UNIQUE INDEX halts_one_active ON public.halts (coalesce(account_id, ''), cause) WHERE cleared_at is null;
CREATE UNIQUE INDEX halts_number ON public.halts (number);

-- Each change of a halt, for the stream of events. Its ids are of one sequence with those of steps, so that (tx_id, id) is one order of both.
CREATE TABLE public.halt_events (
  tx_id xid8 DEFAULT pg_current_xact_id() NOT NULL,
  id bigint DEFAULT nextval('public.command_events_id_seq') NOT NULL,
  snapshot json NOT NULL,
  recorded_at timestamptz DEFAULT now() NOT NULL,
  CONSTRAINT halt_events_tx_id_id_pk PRIMARY KEY (tx_id, id)
);

-- Runs as its owner, so that only a change of a halt can write such an event.
CREATE FUNCTION public.record_halt_event() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO public.halt_events (snapshot) VALUES (json_strip_nulls(json_build_object(
    'haltId', NEW.halt_id, 'accountId', NEW.account_id, 'cause', NEW.cause, 'reason', NEW.reason, 'by', NEW.raised_by, 'sinceMs', public.time_to_ms(NEW.since),
    'clearedAtMs', public.time_to_ms(NEW.cleared_at), 'clearedBy', NEW.cleared_by, 'clearedReason', NEW.cleared_reason)));
  RETURN NULL;
END
$$;

CREATE TRIGGER halts_recorded AFTER INSERT OR UPDATE ON public.halts FOR EACH ROW EXECUTE FUNCTION public.record_halt_event();

-- Adds a halt unless an active one has the same scope and cause. Returns the active one, either way; null: fenced. Where the halt itself is there and was cleared, that row:
-- a process puts back what it has seen here and misses, and may be the last one to hear of a resume.
CREATE FUNCTION public.raise_halt(p_shard integer, p_epoch bigint, p_halt_id text, p_account_id text, p_cause text, p_reason text, p_by text, p_since_ms double precision)
RETURNS SETOF public.halts
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF p_epoch IS NOT NULL AND NOT public.hold_command_fence(p_shard, p_epoch) THEN
    RETURN;
  END IF;
  -- Before the row gets its number: so numbers rise in the order of commits.
  PERFORM public.close_sending();
  LOOP
    INSERT INTO public.halts (halt_id, account_id, cause, reason, raised_by, since)
    VALUES (p_halt_id, p_account_id, p_cause, p_reason, p_by, public.ms_to_time(p_since_ms))
    ON CONFLICT DO NOTHING;
    RETURN QUERY SELECT * FROM public.halts h
      WHERE h.halt_id = p_halt_id OR h.account_id IS NOT DISTINCT FROM p_account_id AND h.cause = p_cause AND h.cleared_at IS NULL
      ORDER BY h.cleared_at NULLS FIRST LIMIT 1;
    EXIT WHEN FOUND;
  END LOOP;
END
$$;

-- Clears the active halts of the scope. Returns their ids; null: fenced; "kept": none was cleared, since one of them was raised by an operator for every account, and the
-- token that asks names only some accounts (`p_of_some`).
CREATE FUNCTION public.clear_halts(
  p_shard integer, p_epoch bigint, p_account_id text, p_by text, p_reason text, p_at_ms double precision, p_of_some boolean
) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_cleared json;
BEGIN
  IF NOT public.hold_command_fence(p_shard, p_epoch) THEN
    RETURN NULL;
  END IF;
  IF p_of_some AND EXISTS (SELECT FROM public.halts WHERE account_id IS NOT DISTINCT FROM p_account_id AND cleared_at IS NULL AND cause = 'operator') THEN
    RETURN '"kept"';
  END IF;
  -- A halt that was raised after the check above stays.
  WITH cleared AS (
    UPDATE public.halts SET cleared_at = public.ms_to_time(p_at_ms), cleared_by = p_by, cleared_reason = p_reason
    WHERE account_id IS NOT DISTINCT FROM p_account_id AND cleared_at IS NULL AND NOT (p_of_some AND cause = 'operator')
    RETURNING halt_id
  )
  SELECT coalesce(json_agg(halt_id), '[]') INTO v_cleared FROM cleared;
  RETURN v_cleared;
END
$$;

-- A process says which active halts it holds (p_halt_ids). The row gets the number up to which it holds all. False: the lane is not its any more.
CREATE FUNCTION public.hold_halts(p_lane integer, p_epoch bigint, p_halt_ids text[]) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE public.lanes SET halts_held = coalesce(
    (SELECT min(number) - 1 FROM public.halts WHERE cleared_at IS NULL AND halt_id <> ALL (p_halt_ids)), (SELECT max(number) FROM public.halts), 0)
  WHERE lane = p_lane AND epoch = p_epoch;
  RETURN FOUND;
END
$$;

-- The holders of live lanes that have not said that they hold this halt. One that finishes another's lane sends no commands.
CREATE FUNCTION public.without_halt(p_halt_id text, p_expire_ms double precision) RETURNS SETOF text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT l.holder FROM public.lanes l
  WHERE l.holder IS NOT NULL AND l.holder NOT LIKE '%/finisher' AND abs(extract(epoch FROM clock_timestamp() - l.renewed_at)) * 1000 < p_expire_ms
    AND l.halts_held < (SELECT h.number FROM public.halts h WHERE h.halt_id = p_halt_id AND h.cleared_at IS NULL)
  ORDER BY l.lane
$$;

-- ----- Principals and the audit trail -----

-- Static tokens of REST. A principal is a name: its idempotency keys and references outlive each of its tokens.
CREATE TABLE public.principal_tokens (
  principal text NOT NULL,
  number integer NOT NULL,
  token_sha256 bytea NOT NULL,
  scopes text[] NOT NULL,
  accounts text[],
  created_at timestamptz DEFAULT now() NOT NULL,
  expires_at timestamptz,
  CONSTRAINT principal_tokens_principal_number_pk PRIMARY KEY (principal, number),
  CONSTRAINT principal_tokens_sha256 CHECK (octet_length(principal_tokens.token_sha256) = 32),
  CONSTRAINT principal_tokens_number CHECK (principal_tokens.number > 0)
);

CREATE UNIQUE INDEX principal_tokens_hash ON public.principal_tokens (token_sha256);

-- Ends a token again, where the database has lost the end that a process has read: never later than it ends now. Runs as its owner, since the service may neither make nor
-- change tokens otherwise.
CREATE FUNCTION public.end_token_again(p_principal text, p_number integer, p_ends_ms double precision) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM public.close_sending();
  UPDATE public.principal_tokens SET expires_at = public.ms_to_time(p_ends_ms)
  WHERE principal = p_principal AND number = p_number AND (expires_at IS NULL OR expires_at > public.ms_to_time(p_ends_ms));
END
$$;

CREATE TABLE public.audit_log (
  id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  at timestamptz NOT NULL,
  principal text NOT NULL,
  action text NOT NULL,
  account_id text,
  command_id text,
  request_id text,
  reason text,
  detail json,
  recorded_at timestamptz DEFAULT now() NOT NULL
);

CREATE INDEX audit_log_at ON public.audit_log (at);

-- ----- After commits were lost -----

-- The database is an older copy of itself. Consumers have the later updates, under revisions that will now be given again.
-- * Every lane gets a generation above its own and at least p_least, which its next holder puts above every revision; its epoch rises, so that its holder now
--   is fenced and begins a term under the new one. A lane that no row knows (the copy is empty) is founded.
-- * The log's numbers jump: an id of the stream of updates that was given out and lost is never given again.
-- * The state topic may be ahead of the copy, and cannot bear an older state: its writer goes on behind what the copy holds.
-- * An attempt that was only prepared when the copy was made may have been sent since: it counts as sent, so that the next holder settles it.
-- * Commands made since are not in the journal, nor their idempotency keys: nothing may be placed until a person has looked.
CREATE FUNCTION public.begin_generation(p_lane integer, p_least integer, p_halt_id text, p_cause text, p_reason text, p_by text,
  OUT generation integer, OUT attempts integer)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_seq bigint;
BEGIN
  PERFORM public.close_sending();
  INSERT INTO public.lanes (lane, holder, epoch, renewed_at) VALUES (p_lane, NULL, 1, clock_timestamp()) ON CONFLICT DO NOTHING;
  -- Each row lock waits for the batch that has it, and keeps the next one out.
  PERFORM FROM public.lanes ORDER BY lane FOR UPDATE;
  SELECT greatest(max(l.generation) + 1, p_least) INTO begin_generation.generation FROM public.lanes l;
  UPDATE public.lanes l SET generation = begin_generation.generation, epoch = l.epoch + 1, holder = NULL;

  -- A thousand million: more than a day of the highest rate measured.
  SELECT setval('public.order_updates_seq', last_value + 1000000000) INTO v_seq FROM public.order_updates_seq;
  INSERT INTO public.relay_positions AS p (lane, cursor, seq) SELECT l.lane, 'state', v_seq FROM public.lanes l
  ON CONFLICT (lane, cursor) DO UPDATE SET seq = greatest(p.seq, excluded.seq), saved_at = now();

  UPDATE public.attempts SET state = 'sending', sending_at = clock_timestamp() WHERE state = 'prepared';
  GET DIAGNOSTICS attempts = ROW_COUNT;
  INSERT INTO public.halts (halt_id, account_id, cause, reason, raised_by, since)
  VALUES (p_halt_id, NULL, p_cause, p_reason, p_by, clock_timestamp())
  ON CONFLICT (coalesce(account_id, ''), cause) WHERE cleared_at IS NULL DO NOTHING;
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
      SELECT FROM public.order_updates l
      WHERE l.stream = u.stream AND l.order_id = u.order_id AND l.revision = u.revision AND l.payload <> u.payload))
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
BEGIN
  -- A standby asks every second, so the rows are locked only if something is missing, and are then looked at again.
  FOR v_look IN 1..2 LOOP
    IF NOT public.lacks_commits(p_lane, p_seen)
      AND public.count_lacking_updates(u_stream, u_order_id, u_generation, u_revision, u_payload) = 0
      AND public.count_lacking_batches(p_batches) = 0 THEN
      RETURN NULL;
    END IF;
    PERFORM FROM public.lanes ORDER BY lane FOR UPDATE;
  END LOOP;
  SELECT g.generation INTO v_generation FROM public.begin_generation(p_lane,
    greatest((SELECT max(u) FROM unnest(u_generation) AS u), (SELECT max(b.generation) FROM json_to_recordset(p_batches) AS b(generation integer))) + 1,
    p_halt_id, 'commits_lost',
    'the database came back without commits that it had acknowledged: commands may be missing from the journal', p_by) AS g;
  IF p_unpublished_after IS NOT NULL THEN
    UPDATE public.order_updates u SET payload = CASE u.stream
      WHEN 'continuity' THEN regexp_replace(u.payload, ',"proof":\{[^}]*\}', '')
      ELSE regexp_replace(u.payload, '"generation":\d+', '"generation":' || v_generation) END
    WHERE u.lane = p_lane AND u.batch > p_unpublished_after;
    -- The newest states among them are newer than those on the state topic.
    UPDATE public.relay_positions p SET seq = coalesce(
      (SELECT max(u.seq) FROM public.order_updates u WHERE u.lane = p_lane AND u.batch <= p_unpublished_after), 0)
    WHERE p.lane = p_lane AND p.cursor = 'state';
  END IF;
  RETURN v_generation;
END
$$;

-- ----- Changes that no row allows -----

-- A command begins open or refused, its request never changes, and its states follow the table of domain/command-machine.ts (a test compares them cell by cell).
-- A complete read that missed an unknown command is evidence and a count, not a step: it changes no version and makes no event.
CREATE FUNCTION public.commands_guard() RETURNS trigger
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
    IF NEW.key_held OR NEW.settled_at IS NULL THEN
      RAISE EXCEPTION 'the key of command % is given up once, when it is final', OLD.command_id USING ERRCODE = 'TM010';
    END IF;
    IF NEW.version = OLD.version AND NEW.state = OLD.state THEN
      RETURN NEW;
    END IF;
  END IF;
  -- One more read that missed an unknown command is counted beside its steps: nothing else may change with it.
  IF NEW.version = OLD.version AND NEW.misses = OLD.misses + 1 AND OLD.state = 'unknown' AND
    (NEW.state, NEW.order_id, NEW.reason::text, NEW.presumed_absent, NEW.pending_revision, NEW.pending_version, NEW.updated_at, NEW.settled_at)
    IS NOT DISTINCT FROM
    (OLD.state, OLD.order_id, OLD.reason::text, OLD.presumed_absent, OLD.pending_revision, OLD.pending_version, OLD.updated_at, OLD.settled_at)
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

CREATE TRIGGER commands_guard BEFORE INSERT OR UPDATE ON public.commands FOR EACH ROW EXECUTE FUNCTION public.commands_guard();

-- Prepared → sending once and never back; a final state is final; a further attempt comes only after one that placed nothing.
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

CREATE TRIGGER attempts_guard BEFORE INSERT OR UPDATE ON public.attempts FOR EACH ROW EXECUTE FUNCTION public.attempts_guard();

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

CREATE TRIGGER halts_guard BEFORE UPDATE ON public.halts FOR EACH ROW EXECUTE FUNCTION public.halts_guard();

-- An event is published once, and may be deleted only after that.
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

CREATE TRIGGER command_events_guard BEFORE UPDATE OR DELETE ON public.command_events FOR EACH ROW EXECUTE FUNCTION public.command_events_guard();

CREATE FUNCTION public.cancel_alls_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NEW.key_held AND NOT OLD.key_held OR OLD.ended_at IS NOT NULL AND OLD.ended_at IS DISTINCT FROM NEW.ended_at OR
    (OLD.key_held, OLD.ended_at) IS NOT DISTINCT FROM (NEW.key_held, NEW.ended_at) OR
    (OLD.cancel_all_id, OLD.shard, OLD.principal, OLD.idempotency_key, OLD.request_hash, OLD.selection::text, OLD.reason, OLD.on_landing, OLD.orders::text,
      OLD.places::text, OLD.unread::text, OLD.declined::text, OLD.created_at)
    IS DISTINCT FROM
    (NEW.cancel_all_id, NEW.shard, NEW.principal, NEW.idempotency_key, NEW.request_hash, NEW.selection::text, NEW.reason, NEW.on_landing, NEW.orders::text,
      NEW.places::text, NEW.unread::text, NEW.declined::text, NEW.created_at)
  THEN
    RAISE EXCEPTION 'cancel-all % ends once and gives up its key once, and never changes otherwise', OLD.cancel_all_id USING ERRCODE = 'TM010';
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER cancel_alls_guard BEFORE UPDATE ON public.cancel_alls FOR EACH ROW EXECUTE FUNCTION public.cancel_alls_guard();

-- Triggers of statements, so that they add no cost to the writes of rows.
CREATE FUNCTION public.principal_tokens_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND (
    (OLD.principal, OLD.number, OLD.token_sha256, OLD.scopes, OLD.accounts, OLD.created_at)
      IS DISTINCT FROM (NEW.principal, NEW.number, NEW.token_sha256, NEW.scopes, NEW.accounts, NEW.created_at)
    OR NEW.expires_at IS NULL OR NEW.expires_at >= OLD.expires_at OR OLD.expires_at <= now())
  THEN
    RAISE EXCEPTION 'token % of % may only be ended earlier', OLD.number, OLD.principal USING ERRCODE = 'TM010';
  END IF;
  -- In a trigger and not in the program, so that a token made by hand is recorded too. Its maker is the database login: REST cannot make tokens.
  INSERT INTO public.audit_log (at, principal, action, detail)
  VALUES (clock_timestamp(), 'database:' || session_user, CASE TG_OP WHEN 'INSERT' THEN 'token_add' ELSE 'token_end' END,
    json_build_object('principal', NEW.principal, 'number', NEW.number, 'scopes', NEW.scopes, 'accounts', NEW.accounts, 'expiresAt', NEW.expires_at));
  RETURN NEW;
END
$$;

CREATE TRIGGER principal_tokens_guard BEFORE INSERT OR UPDATE ON public.principal_tokens FOR EACH ROW EXECUTE FUNCTION public.principal_tokens_guard();

CREATE FUNCTION public.refuse_loss() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION '% of % is not allowed: it only grows', TG_OP, TG_TABLE_NAME USING ERRCODE = 'TM010';
END
$$;

CREATE TRIGGER evidence_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON public.evidence FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();
CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON public.audit_log FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();
CREATE TRIGGER commands_stay BEFORE DELETE OR TRUNCATE ON public.commands FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();
CREATE TRIGGER attempts_stay BEFORE DELETE OR TRUNCATE ON public.attempts FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();
CREATE TRIGGER halts_stay BEFORE DELETE OR TRUNCATE ON public.halts FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();
CREATE TRIGGER order_bindings_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON public.order_bindings FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();
CREATE TRIGGER command_events_stay BEFORE TRUNCATE ON public.command_events FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();
CREATE TRIGGER principal_tokens_stay BEFORE DELETE OR TRUNCATE ON public.principal_tokens FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();
CREATE TRIGGER approvals_stay BEFORE DELETE OR TRUNCATE ON public.approvals FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();
CREATE TRIGGER cancel_alls_stay BEFORE DELETE OR TRUNCATE ON public.cancel_alls FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();

-- ----- Rights of each role -----
-- `tidemark_owner` owns everything (the runner of the migrations acts as it), `tidemark_app` is the service, `tidemark_reader` people and dashboards.
-- Logins are granted membership by the people who run the database.
GRANT USAGE ON SCHEMA public TO tidemark_app, tidemark_reader;

-- Orders, the log, bindings and numbers of batches are written by apply_batch alone, so behind the lane's fence.
GRANT SELECT ON public.orders, public.order_updates, public.order_bindings, public.lane_batches TO tidemark_app;
GRANT SELECT, INSERT, UPDATE ON public.lanes, public.relay_positions, public.published_topics, public.accounts TO tidemark_app;
-- How many shards there are is decided once, by the owner.
GRANT SELECT, UPDATE (lane, epoch, since, pinned) ON public.shards TO tidemark_app;
GRANT SELECT, UPDATE (dealt_at), DELETE ON public.quarantine TO tidemark_app;
GRANT SELECT, INSERT, UPDATE ON public.credentials TO tidemark_app;
GRANT SELECT, INSERT (kind, stream, account_id, quarantine_id, job_id, since, asked_by, reason, answered_at, outcome, detail),
  UPDATE (answered_at, outcome, detail), DELETE ON public.repair_requests TO tidemark_app;
GRANT SELECT, INSERT, UPDATE (ended_at, cancelled_by), DELETE ON public.quarantine_jobs TO tidemark_app;

-- The service may step commands, and takes nothing away but published events.
GRANT SELECT, INSERT, UPDATE ON public.commands, public.attempts, public.command_fence TO tidemark_app;
GRANT SELECT, INSERT ON public.evidence, public.audit_log TO tidemark_app;
GRANT SELECT, INSERT, UPDATE (published_at), DELETE ON public.command_events TO tidemark_app;
GRANT SELECT, INSERT, UPDATE (key_held, ended_at) ON public.cancel_alls TO tidemark_app;
GRANT SELECT, INSERT, UPDATE (timer_id, fires_at, ended_at, changes) ON public.cancel_timers TO tidemark_app;
GRANT SELECT, INSERT, UPDATE (cleared_at, cleared_by, cleared_reason) ON public.halts TO tidemark_app;
GRANT SELECT, DELETE ON public.halt_events TO tidemark_app;
GRANT SELECT, INSERT, UPDATE ON public.event_floor TO tidemark_app;
-- Tokens are made and ended by people, as the owner: a service that was broken into cannot give access to others.
GRANT SELECT ON public.principal_tokens TO tidemark_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON public.limits TO tidemark_app;
GRANT SELECT, INSERT, UPDATE (approved_by, approved_reason, approved_at) ON public.approvals TO tidemark_app;

GRANT SELECT ON public.orders, public.order_updates, public.order_bindings, public.lanes, public.lane_batches, public.shards, public.relay_positions, public.published_topics, public.accounts, public.quarantine,
  public.repair_requests, public.quarantine_jobs, public.commands, public.attempts, public.evidence, public.command_events, public.halt_events, public.event_floor,
  public.command_fence, public.cancel_alls, public.cancel_timers, public.halts,
  public.limits, public.approvals, public.audit_log TO tidemark_reader;
-- Without the hashes.
GRANT SELECT (principal, number, scopes, accounts, created_at, expires_at) ON public.principal_tokens TO tidemark_reader;

GRANT EXECUTE ON FUNCTION public.apply_batch, public.apply_batch_with_bindings, public.log_partitions, public.ensure_log_partitions,
  public.drop_log_partition, public.lane_batch, public.unpublished_lanes, public.lacks_actions, public.lacks_commits, public.notice_loss, public.end_token_again TO tidemark_app;
GRANT EXECUTE ON FUNCTION public.ms_to_time, public.time_to_ms, public.command_json, public.hold_command_fence, public.append_evidence,
  public.add_command_evidence, public.tell_step, public.is_superseded, public.open_command, public.close_sending, public.sending_objection, public.mark_sending,
  public.step_command, public.note_miss,
  public.take_over_commands TO tidemark_app;
GRANT EXECUTE ON FUNCTION public.cancel_all_holds_key, public.open_cancel_all, public.end_cancel_all, public.cancel_all_json, public.raise_halt, public.clear_halts, public.hold_halts,
  public.without_halt TO tidemark_app;
GRANT EXECUTE ON FUNCTION public.set_cancel_timers, public.end_cancel_timer TO tidemark_app;
GRANT EXECUTE ON FUNCTION public.ms_to_time, public.time_to_ms, public.command_json, public.cancel_all_json TO tidemark_reader;
GRANT EXECUTE ON FUNCTION public.canonical_symbol, public.symbol_letters, public.underlying_symbol, public.limit_reading, public.exposure_of, public.weigh_limits, public.judge_limits,
  public.uses_reference_again, public.may_supersede, public.preview_command, public.change_limits, public.request_approval TO tidemark_app;
GRANT EXECUTE ON FUNCTION public.canonical_symbol, public.symbol_letters TO tidemark_reader;
