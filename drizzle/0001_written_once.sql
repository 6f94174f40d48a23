-- Updates and events are written once, a step of a command stays in its page (docs/decisions/068 to 070, 074).
-- The journal is made anew beside the old one, in drizzle's schema, while readers go on. Orders and the log get columns, and no row of them is touched.

-- Nothing writes the journal from here on. It may be read.
LOCK TABLE public.commands, public.attempts, public.evidence, public.command_events, public.halt_events IN SHARE ROW EXCLUSIVE MODE;

CREATE TABLE drizzle.commands (
  command_id uuid NOT NULL,
  shard integer NOT NULL,
  principal text NOT NULL,
  idempotency_key text NOT NULL,
  request_hash text NOT NULL,
  kind text NOT NULL,
  stream text NOT NULL,
  account_id text NOT NULL,
  symbol text,
  side text,
  request json NOT NULL,
  caller_ref text,
  supersedes uuid,
  baseline json,
  exposure numeric,
  limits_change bigint DEFAULT 0 NOT NULL,
  token_number integer,
  deadline_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  key_held boolean DEFAULT true NOT NULL,
  state text NOT NULL,
  version integer NOT NULL,
  order_id text,
  reason json,
  presumed_absent boolean DEFAULT false NOT NULL,
  pending_revision bigint,
  pending_version bigint,
  misses integer DEFAULT 0 NOT NULL,
  updated_at timestamptz NOT NULL,
  settled_at timestamptz,
  came_to_nothing boolean GENERATED ALWAYS AS (kind = 'place' and settled_at is not null and (order_id is null or state <> 'applied')) STORED NOT NULL,
  CONSTRAINT commands_kind CHECK (kind in ('place', 'replace', 'cancel')),
  CONSTRAINT commands_stream CHECK (stream in ('account', 'prediction')),
  CONSTRAINT commands_state CHECK (state in ('open', 'refused', 'not_sent', 'accepted', 'unknown', 'applied', 'rejected', 'moot', 'conflict')),
  CONSTRAINT commands_settled_is_final CHECK ((settled_at is not null) = (state in ('refused', 'not_sent', 'applied', 'rejected', 'moot'))),
  CONSTRAINT commands_absence_is_of_unknown CHECK (not presumed_absent or state = 'unknown'),
  CONSTRAINT commands_place_has_terms CHECK (kind <> 'place' or (symbol is not null and side is not null)),
  CONSTRAINT commands_of_an_order_name_it CHECK (kind = 'place' or order_id is not null),
  CONSTRAINT commands_no_cancel_supersedes CHECK (supersedes is null or kind <> 'cancel'),
  CONSTRAINT commands_counts CHECK (version > 0 and misses >= 0)
) WITH (fillfactor = 60);

--> statement-breakpoint
INSERT INTO drizzle.commands (command_id, shard, principal, idempotency_key, request_hash, kind, stream, account_id, symbol, side, request, caller_ref, supersedes,
  baseline, exposure, limits_change, token_number, deadline_at, created_at, key_held, state, version, order_id, reason, presumed_absent, pending_revision,
  pending_version, misses, updated_at, settled_at)
SELECT command_id, shard, principal, idempotency_key, request_hash, kind, stream, account_id, symbol, side, request, caller_ref, supersedes,
  baseline, exposure, limits_change, token_number, deadline_at, created_at, key_held, state, version, order_id, reason, presumed_absent, pending_revision,
  pending_version, misses, updated_at, settled_at
FROM public.commands;

--> statement-breakpoint
ALTER TABLE drizzle.commands ADD PRIMARY KEY (command_id);
CREATE UNIQUE INDEX commands_one_per_key ON drizzle.commands (idempotency_key, principal, (case when not key_held then command_id end)) NULLS NOT DISTINCT;
CREATE UNIQUE INDEX commands_one_place_per_order ON drizzle.commands (stream, order_id) WHERE kind = 'place' and order_id is not null;
CREATE INDEX commands_successors ON drizzle.commands (supersedes) WHERE supersedes is not null;
CREATE INDEX commands_newest ON drizzle.commands (created_at, command_id);
CREATE INDEX commands_by_account ON drizzle.commands (account_id, created_at, command_id);
CREATE INDEX commands_by_caller_ref ON drizzle.commands (caller_ref, principal) WHERE caller_ref IS NOT NULL;
CREATE INDEX commands_not_final ON drizzle.commands (account_id, created_at) WHERE settled_at is null;
CREATE INDEX commands_key_held ON drizzle.commands (created_at) WHERE key_held;
CREATE INDEX commands_settled ON drizzle.commands (settled_at) WHERE settled_at is not null;
CREATE INDEX commands_of_order ON drizzle.commands (stream, order_id) WHERE kind <> 'place';
CREATE INDEX commands_came_to_nothing ON drizzle.commands (shard, command_id) WHERE came_to_nothing;

--> statement-breakpoint
CREATE TABLE drizzle.attempts (
  attempt_id text NOT NULL,
  command_id uuid NOT NULL,
  number integer NOT NULL,
  epoch bigint NOT NULL,
  prepared_at timestamptz NOT NULL,
  state text NOT NULL,
  sending_at timestamptz,
  answered_at timestamptz,
  reason json,
  in_doubt boolean GENERATED ALWAYS AS (state not in ('not_sent', 'refused')) STORED NOT NULL,
  in_flight boolean GENERATED ALWAYS AS (state in ('prepared', 'sending')) STORED NOT NULL,
  CONSTRAINT attempts_id CHECK (starts_with(attempt_id, 'tm-') and length(attempt_id) <= 64),
  CONSTRAINT attempts_state CHECK (state in ('prepared', 'sending', 'not_sent', 'refused', 'rejected', 'accepted', 'unknown')),
  CONSTRAINT attempts_number CHECK (number > 0)
) WITH (fillfactor = 60);

INSERT INTO drizzle.attempts (attempt_id, command_id, number, epoch, prepared_at, state, sending_at, answered_at, reason)
SELECT attempt_id, command_id, number, epoch, prepared_at, state, sending_at, answered_at, reason FROM public.attempts;

--> statement-breakpoint
ALTER TABLE drizzle.attempts ADD PRIMARY KEY (attempt_id),
  ADD CONSTRAINT attempts_command_id_commands_command_id_fk FOREIGN KEY (command_id) REFERENCES drizzle.commands (command_id);
CREATE UNIQUE INDEX attempts_numbered ON drizzle.attempts (command_id, number);
CREATE UNIQUE INDEX attempts_one_in_doubt ON drizzle.attempts (command_id) WHERE in_doubt;
CREATE INDEX attempts_in_flight ON drizzle.attempts (epoch) WHERE in_flight;

CREATE TABLE drizzle.command_events (
  tx_id xid8 DEFAULT pg_current_xact_id() NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY,
  command_id uuid NOT NULL,
  version integer NOT NULL,
  misses integer NOT NULL,
  presumed_absent boolean NOT NULL,
  updated_at timestamptz NOT NULL,
  settled_at timestamptz,
  recorded_at timestamptz DEFAULT now() NOT NULL,
  pending_revision bigint,
  pending_version bigint,
  state text NOT NULL,
  order_id text,
  order_status text,
  reason json,
  attempts json NOT NULL
);

--> statement-breakpoint
-- An event was the whole command. What never changes is read from the command from now on (event_json), and the texts are the same.
INSERT INTO drizzle.command_events (tx_id, id, command_id, version, misses, presumed_absent, updated_at, settled_at, recorded_at, pending_revision, pending_version,
  state, order_id, order_status, reason, attempts) OVERRIDING SYSTEM VALUE
SELECT e.tx_id, e.id, e.command_id, e.version, s.misses, s."presumedAbsent", public.ms_to_time(s."updatedAtMs"), public.ms_to_time(s."settledAtMs"), e.recorded_at,
  s."pendingRevision", s."pendingVersion", s.state, s."orderId", s."orderStatus", s.reason, (
    SELECT coalesce(json_agg(json_build_array(a.was -> 'state', a.was -> 'sendingAtMs', a.was -> 'answeredAtMs', a.was -> 'reason') ORDER BY a.place), '[]')
    FROM json_array_elements(s.attempts) WITH ORDINALITY AS a(was, place))
FROM public.command_events e CROSS JOIN LATERAL json_to_record(e.snapshot) AS s(misses integer, "presumedAbsent" boolean, "updatedAtMs" double precision,
  "settledAtMs" double precision, "pendingRevision" bigint, "pendingVersion" bigint, state text, "orderId" text, "orderStatus" text, reason json, attempts json);
--> statement-breakpoint
-- An id of an event that is gone is not given again.
SELECT setval('drizzle.command_events_id_seq', s.last_value, s.is_called) FROM public.command_events_id_seq s;

--> statement-breakpoint
ALTER TABLE drizzle.command_events ADD CONSTRAINT command_events_tx_id_id_pk PRIMARY KEY (tx_id, id),
  ADD CONSTRAINT command_events_command_id_commands_command_id_fk FOREIGN KEY (command_id) REFERENCES drizzle.commands (command_id);
CREATE UNIQUE INDEX command_events_versions ON drizzle.command_events (command_id, version);

CREATE TABLE public.command_outbox (
  id bigint PRIMARY KEY,
  shard integer NOT NULL,
  version integer NOT NULL,
  command_id uuid NOT NULL
);

INSERT INTO public.command_outbox (id, shard, version, command_id)
SELECT e.id, c.shard, e.version, e.command_id FROM public.command_events e JOIN public.commands c ON c.command_id = e.command_id WHERE e.published_at IS NULL;

--> statement-breakpoint
ALTER TABLE public.evidence ADD CONSTRAINT evidence_of_command FOREIGN KEY (command_id) REFERENCES drizzle.commands (command_id);
-- Only where there are rows: Postgres would take the tables of a new database for empty, and read them whole until they are analysed again.
DO $$
BEGIN
  IF EXISTS (SELECT FROM drizzle.commands) THEN
    ANALYZE drizzle.commands, drizzle.attempts, drizzle.command_events, public.command_outbox;
  END IF;
END
$$;

--> statement-breakpoint
-- ----- From here on readers wait as well. Each statement takes some milliseconds, whatever the number of rows. -----
LOCK TABLE public.orders, public.order_updates, public.commands, public.attempts, public.evidence, public.command_events, public.halt_events
  IN ACCESS EXCLUSIVE MODE;

ALTER TABLE public.evidence DROP CONSTRAINT evidence_command_id_commands_command_id_fk;
ALTER TABLE public.evidence RENAME CONSTRAINT evidence_of_command TO evidence_command_id_commands_command_id_fk;
DROP FUNCTION public.command_json(public.commands), public.may_supersede(json, public.commands), public.sending_objection(public.commands);
-- The events of halts take their ids from the same sequence.
ALTER TABLE public.halt_events ALTER COLUMN id DROP DEFAULT;
DROP TABLE public.command_events, public.attempts, public.commands;
ALTER TABLE drizzle.commands SET SCHEMA public;
ALTER TABLE drizzle.attempts SET SCHEMA public;
ALTER TABLE drizzle.command_events SET SCHEMA public;
ALTER TABLE public.halt_events ALTER COLUMN id SET DEFAULT nextval('public.command_events_id_seq');

-- Every order of before has its state here. The newest rows of the log have those of later updates.
-- Not valid yet: `tidemark migrate` reads the table for that afterwards, beside those who read and write it.
ALTER TABLE public.orders ALTER COLUMN state DROP NOT NULL, ADD COLUMN seq bigint, ADD COLUMN before_seq bigint, ADD COLUMN before_lane integer,
  ADD CONSTRAINT orders_has_state CHECK (state is not null or seq is not null) NOT VALID;
ALTER TABLE public.order_updates ADD COLUMN before_seq bigint, ADD COLUMN before_lane integer;

-- A partition with rows of before keeps its index on orders: these rows name no row before them, and order_chain finds them by it. It goes with its partition.
DO $$
DECLARE
  v_constraint record;
BEGIN
  FOR v_constraint IN
    SELECT p.name AS partition, k.conname AS name
    FROM public.log_partitions() p JOIN pg_constraint k ON k.conrelid = to_regclass(format('public.%I', p.name)) AND k.contype = 'u'
    WHERE p.from_seq > (SELECT last_value FROM public.order_updates_seq)
  LOOP
    EXECUTE format('ALTER TABLE public.%I DROP CONSTRAINT %I', v_constraint.partition, v_constraint.name);
  END LOOP;
END
$$;

CREATE TABLE public.moved_states (
  from_seq bigint NOT NULL,
  lane integer NOT NULL,
  seq bigint NOT NULL,
  CONSTRAINT moved_states_from_seq_lane_pk PRIMARY KEY (from_seq, lane)
);

DROP FUNCTION
  public.note_miss(integer, bigint, json),
  public.apply_batch(integer, bigint, bigint, text[], text[], text[], text[], text[], bigint[], bigint[], bigint[], json[], json[],
    text[], text[], text[], bigint[], text[], text[], text[], text[], text[], text[], text[], bigint[]),
  public.apply_batch_with_bindings(integer, bigint, bigint, text[], text[], text[], text[], text[], bigint[], bigint[], bigint[], json[], json[],
    text[], text[], text[], bigint[], text[], text[], text[], text[], text[], text[], text[], bigint[], text[], text[], text[], text[], bigint[]);

-- ----- From here on as src/store/sql has it: functions, views and triggers that are new or changed, and all rights. Written by test/store/baseline.test.ts -----

CREATE OR REPLACE VIEW public.current_orders WITH (security_invoker = true) AS
SELECT o.stream, o.order_id, o.lane, o.account_id, o.symbol, o.status, o.is_open, o.revision, o.reduced_from, o.source_version,
  coalesce(o.state, (SELECT u.payload::json -> 'order' FROM public.order_updates u WHERE u.lane = o.lane AND u.seq = o.seq)) AS state,
  o.state AS kept_state, CASE WHEN o.state IS NULL THEN (SELECT u.payload FROM public.order_updates u WHERE u.lane = o.lane AND u.seq = o.seq) END AS payload,
  o.join_state, o.updated_at, o.closed_changed_at, o.seq
FROM public.orders o;

CREATE OR REPLACE FUNCTION public.heads_of(p_keys text[], OUT key text, OUT revision bigint, OUT source_version bigint, OUT kept_state text, OUT payload text, OUT join_state text)
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
    INSERT INTO public.quarantine (lane, batch, stream, account_id, order_id, reason, detail, raw, observed_at)
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
  -- An order is bound once: the first row stays.
  INSERT INTO public.order_bindings (stream, order_id, attempt_id, command_id, matches)
  SELECT b.stream, b.order_id, b.attempt_id, b.command_id::uuid, b.matches <> 0
  FROM unnest(b_stream, b_order_id, b_attempt_id, b_command_id, b_matches) AS b(stream, order_id, attempt_id, command_id, matches)
  ON CONFLICT (stream, order_id) DO NOTHING;
  RETURN v_last;
END
$$;

CREATE OR REPLACE FUNCTION public.order_chain(p_stream text, p_order_id text, p_above bigint)
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

CREATE OR REPLACE FUNCTION public.ensure_log_partitions(p_rows bigint, p_ahead integer DEFAULT 2) RETURNS text[]
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

CREATE OR REPLACE FUNCTION public.passed_log_partition(p_retention interval) RETURNS TABLE (name text, from_seq bigint)
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

CREATE OR REPLACE FUNCTION public.lane_to_move(p_name text, p_from_seq bigint, OUT lane integer, OUT moved bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
  v_newest bigint;
BEGIN
  LOOP
    EXECUTE format('SELECT p.lane FROM public.%I p WHERE p.lane > $1 ORDER BY p.lane LIMIT 1', p_name) INTO lane USING coalesce(lane, -1);
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
  v_lane integer;
  v_moved bigint;
  v_seqs bigint[];
  v_streams text[];
  v_ids text[];
  v_held bigint;
BEGIN
  IF NOT pg_try_advisory_xact_lock(hashtext('tidemark'), hashtext('moved_states')) THEN
    RETURN 0;
  END IF;
  SELECT p.name, p.from_seq INTO v_name, v_from FROM public.passed_log_partition(p_retention) p;
  IF v_name IS NULL THEN
    RETURN 0;
  END IF;
  SELECT l.lane, l.moved INTO v_lane, v_moved FROM public.lane_to_move(v_name, v_from) l;
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
  UPDATE public.orders o SET state = c.state FROM held h
  JOIN public.current_orders c ON c.stream = h.stream AND c.order_id = h.order_id
  WHERE o.stream = h.stream AND o.order_id = h.order_id;
  SELECT min(u.seq) INTO v_held FROM unnest(v_seqs, v_streams, v_ids) AS u(seq, stream, order_id)
  JOIN public.orders o ON o.stream = u.stream AND o.order_id = u.order_id
  WHERE o.lane = v_lane AND o.seq = u.seq AND o.state IS NULL;
  INSERT INTO public.moved_states AS m (from_seq, lane, seq) VALUES (v_from, v_lane, coalesce(v_held - 1, v_seqs[cardinality(v_seqs)]))
  ON CONFLICT (from_seq, lane) DO UPDATE SET seq = excluded.seq;
  RETURN cardinality(v_seqs);
END
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
  IF (SELECT l.lane FROM public.lane_to_move(v_name, v_from) l) IS NOT NULL THEN
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
    'createdAtMs', public.time_to_ms(c.created_at), 'updatedAtMs', public.time_to_ms(c.updated_at), 'settledAtMs', public.time_to_ms(c.settled_at),
    'attempts', coalesce(p_attempts, '[]'));
END
$$;

CREATE OR REPLACE FUNCTION public.order_status_of(c public.commands) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN (SELECT o.status FROM public.orders o WHERE o.stream = c.stream AND o.order_id = c.order_id AND o.account_id = c.account_id);
END
$$;

CREATE OR REPLACE FUNCTION public.attempt_json(a public.attempts) RETURNS json
LANGUAGE sql STABLE AS $$
  SELECT json_build_object('attemptId', a.attempt_id, 'number', a.number, 'state', a.state, 'epoch', a.epoch::text, 'preparedAtMs', public.time_to_ms(a.prepared_at),
    'sendingAtMs', public.time_to_ms(a.sending_at), 'answeredAtMs', public.time_to_ms(a.answered_at), 'reason', a.reason)
$$;

CREATE OR REPLACE FUNCTION public.command_json(c public.commands) RETURNS json
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN public.command_at(c, public.order_status_of(c), (
    SELECT json_agg(public.attempt_json(a) ORDER BY a.number) FROM public.attempts a WHERE a.command_id = c.command_id));
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
  RETURN public.command_at(c, e.order_status, (
    SELECT json_agg(json_build_object(
      'attemptId', a.attempt_id, 'number', a.number, 'state', t.was -> 0, 'epoch', a.epoch::text, 'preparedAtMs', public.time_to_ms(a.prepared_at),
      'sendingAtMs', t.was -> 1, 'answeredAtMs', t.was -> 2, 'reason', t.was -> 3) ORDER BY a.number)
    FROM public.attempts a JOIN json_array_elements(e.attempts) WITH ORDINALITY AS t(was, number) ON t.number = a.number
    WHERE a.command_id = e.command_id));
END
$$;

CREATE OR REPLACE FUNCTION public.bindings_of(p_attempt_ids text[], OUT attempt_id text, OUT command_id uuid, OUT caller_ref text, OUT stream text, OUT account_id text, OUT side text)
RETURNS SETOF record
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET plan_cache_mode = 'force_generic_plan'
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  RETURN QUERY SELECT a.attempt_id, c.command_id, c.caller_ref, c.stream, c.account_id, c.side
  FROM unnest(p_attempt_ids) AS k(id) JOIN public.attempts a ON a.attempt_id = k.id JOIN public.commands c ON c.command_id = a.command_id
  WHERE c.kind = 'place';
END
$$;

CREATE OR REPLACE FUNCTION public.hold_command_fence(p_shard integer, p_epoch bigint) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(hashtext('tidemark fence'), p_shard);
  -- A statement of its own: its snapshot is younger than the lock.
  PERFORM FROM public.command_fence f WHERE f.shard = p_shard AND f.epoch = p_epoch;
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
  INSERT INTO public.command_events (command_id, version, misses, presumed_absent, updated_at, settled_at, pending_revision, pending_version, state, order_id,
    order_status, reason, attempts)
  VALUES (c.command_id, c.version, c.misses, c.presumed_absent, c.updated_at, c.settled_at, c.pending_revision, c.pending_version, c.state, c.order_id,
    v_status, c.reason, coalesce(v_brief, '[]'))
  RETURNING id INTO v_id;
  INSERT INTO public.command_outbox (id, shard, version, command_id) VALUES (v_id, c.shard, c.version, c.command_id);
  RETURN public.command_at(c, v_status, v_attempts);
END
$$;

CREATE OR REPLACE FUNCTION public.approvals_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  -- One that is not approved may end earlier (`raise_halt`), and never later.
  IF OLD.approved_at IS NOT NULL OR NEW.expires_at > OLD.expires_at OR NEW.expires_at < OLD.expires_at AND NEW.approved_at IS NOT NULL OR
    (OLD.approval_id, OLD.action::text, OLD.account_id, OLD.requested_by, OLD.reason, OLD.request_id, OLD.requested_at) IS DISTINCT FROM
    (NEW.approval_id, NEW.action::text, NEW.account_id, NEW.requested_by, NEW.reason, NEW.request_id, NEW.requested_at)
  THEN
    RAISE EXCEPTION 'request % is approved once, and never changed otherwise', OLD.approval_id USING ERRCODE = 'TM010';
  END IF;
  RETURN NEW;
END
$$;

CREATE OR REPLACE FUNCTION public.canonical_symbol(p_symbol text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(upper(translate(btrim(p_symbol), 'i', 'I')), '^(?:O:)?([A-Z0-9.]{1,6}) *([0-9]{6}[CP][0-9]{8})$', E'\\1\\2');

CREATE OR REPLACE FUNCTION public.underlying_symbol(p_symbol text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(upper(translate(btrim(p_symbol), 'i', 'I')), '^(?:O:)?([A-Z0-9.]{1,6}) *[0-9]{6}[CP][0-9]{8}$', E'\\1');

CREATE OR REPLACE FUNCTION public.same_underlying(p_stream text, p_symbol text, p_underlying text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN public.underlying_symbol(p_symbol) = p_underlying
  OR p_stream = 'account' AND public.symbol_letters(public.underlying_symbol(p_symbol)) = public.symbol_letters(p_underlying);

CREATE OR REPLACE FUNCTION public.exposure_of(p_account text, p_symbol text, OUT amount numeric, OUT unvalued text)
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
    JOIN public.current_orders o ON o.account_id = p_account AND o.stream = k.stream AND o.is_open
    CROSS JOIN LATERAL json_to_record(o.state) AS s(instrument json, side text, price numeric, "stopPrice" numeric, working json, "leavesQty" numeric)
    CROSS JOIN LATERAL (SELECT json_array_length(coalesce(s.instrument -> 'legs', '[]')), CASE
      WHEN s.instrument ->> 'kind' <> 'option' THEN 1
      WHEN json_array_length(coalesce(s.instrument -> 'legs', '[]')) = 1 THEN 100 * ceil((s.instrument -> 'legs' -> 0 ->> 'ratioQty')::numeric)
      ELSE 100 END) AS u(legs, shares)
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
      + (SELECT count(*) FROM public.commands c WHERE c.account_id = v_account AND c.settled_at IS NULL AND c.kind = 'place'
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

CREATE OR REPLACE FUNCTION public.try_sending() RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN pg_try_advisory_xact_lock_shared(hashtext('tidemark sending'), 0);
END
$$;

CREATE OR REPLACE FUNCTION public.request_approval(p json, p_most integer) RETURNS SETOF public.approvals
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

CREATE OR REPLACE FUNCTION public.may_supersede(p json, v_prior public.commands) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN (v_prior.kind = p -> 'request' ->> 'kind' AND v_prior.account_id = p -> 'request' ->> 'accountId'
    AND (v_prior.state = 'unknown' AND v_prior.presumed_absent OR v_prior.state = 'conflict' AND v_prior.kind = 'replace'
      AND v_prior.created_at <= public.ms_to_time((p ->> 'atMs')::double precision) - interval '10 minutes')
    AND NOT (v_prior.kind = 'place' AND public.is_superseded(v_prior.command_id))) IS TRUE;
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

CREATE OR REPLACE FUNCTION public.mark_sending(p_shard integer, p_epoch bigint, p_attempt_id text, p_at_ms double precision) RETURNS json
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

CREATE OR REPLACE FUNCTION public.note_misses(p_shard integer, p_epoch bigint, p json) RETURNS json
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

CREATE OR REPLACE FUNCTION public.take_over_commands(p_shard integer, p_epoch bigint, p_at_ms double precision) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v public.commands;
  v_last public.attempts;
  v_was text;
  v_swept integer := 0;
  v_at timestamptz := public.ms_to_time(p_at_ms);
  v_reason json := json_build_object('code', 'TAKEN_OVER', 'message', 'the process that had it in hand is gone');
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('tidemark fence'), p_shard);
  INSERT INTO public.command_fence AS f (shard, epoch) VALUES (p_shard, p_epoch)
  ON CONFLICT (shard) DO UPDATE SET epoch = excluded.epoch WHERE f.epoch <= excluded.epoch;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'shard % was taken over by a later holder than epoch %', p_shard, p_epoch USING ERRCODE = 'TM011';
  END IF;

  FOR v IN
    SELECT * FROM public.commands c
    WHERE c.shard = p_shard AND c.command_id IN (
      SELECT command_id FROM public.attempts WHERE in_flight AND epoch < p_epoch
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

CREATE OR REPLACE FUNCTION public.add_audit_lines(p json) RETURNS void
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

CREATE OR REPLACE FUNCTION public.write_one(p_name text, p_shard integer, p_epoch bigint, p json) RETURNS json
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

CREATE OR REPLACE FUNCTION public.raise_halt(p_shard integer, p_epoch bigint, p_halt_id text, p_account_id text, p_cause text, p_reason text, p_by text, p_since_ms double precision)
RETURNS SETOF public.halts
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  -- The service raises a halt again for each further command without an outcome; a person who halts again means it.
  v_anew boolean := p_cause IN ('operator', 'account_operator');
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
    v_anew := v_anew OR FOUND;
    RETURN QUERY SELECT * FROM public.halts h
      WHERE h.halt_id = p_halt_id OR h.account_id IS NOT DISTINCT FROM p_account_id AND h.cause = p_cause AND h.cleared_at IS NULL
      ORDER BY h.cleared_at NULLS FIRST LIMIT 1;
    EXIT WHEN FOUND;
  END LOOP;
  -- Two principals agreed on a resume, or one of them has asked for it: neither knew of this halt. Ended long ago, so that no clock that is behind takes it as waiting.
  IF v_anew THEN
    UPDATE public.approvals SET expires_at = to_timestamp(0)
    WHERE approved_at IS NULL AND expires_at > to_timestamp(0) AND action ->> 'kind' = 'resume' AND account_id IS NOT DISTINCT FROM p_account_id;
  END IF;
END
$$;

CREATE OR REPLACE FUNCTION public.end_token_again(p_principal text, p_number integer, p_ends_ms double precision) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  -- The row first: `sending` is never held while a row is waited for.
  PERFORM FROM public.principal_tokens WHERE principal = p_principal AND number = p_number FOR UPDATE;
  PERFORM public.close_sending();
  UPDATE public.principal_tokens SET expires_at = public.ms_to_time(p_ends_ms)
  WHERE principal = p_principal AND number = p_number AND (expires_at IS NULL OR expires_at > public.ms_to_time(p_ends_ms));
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
  PERFORM setval('public.command_events_id_seq', last_value + 1000000000) FROM public.command_events_id_seq;
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

CREATE OR REPLACE FUNCTION public.count_lacking_updates(u_stream text[], u_order_id text[], u_generation integer[], u_revision bigint[], u_payload text[]) RETURNS bigint
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

CREATE OR REPLACE FUNCTION public.notice_loss(p_lane integer, p_seen json,
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

CREATE OR REPLACE TRIGGER commands_guard BEFORE INSERT OR UPDATE ON public.commands FOR EACH ROW EXECUTE FUNCTION public.commands_guard();

CREATE OR REPLACE FUNCTION public.attempts_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.answered_at IS NOT NULL OR (NEW.state = 'sending') <> (NEW.sending_at IS NOT NULL) OR
      NOT (NEW.state = 'prepared' OR NEW.state = 'sending' AND NEW.number = 1) THEN
      RAISE EXCEPTION 'attempt % begins prepared, or the first one as sending', NEW.attempt_id USING ERRCODE = 'TM010';
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

CREATE OR REPLACE TRIGGER attempts_guard BEFORE INSERT OR UPDATE ON public.attempts FOR EACH ROW EXECUTE FUNCTION public.attempts_guard();

CREATE OR REPLACE FUNCTION public.command_events_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT FROM public.command_outbox WHERE id = OLD.id) THEN
    RAISE EXCEPTION 'event % was not published yet', OLD.id USING ERRCODE = 'TM010';
  END IF;
  RETURN OLD;
END
$$;

CREATE OR REPLACE TRIGGER command_events_guard BEFORE DELETE ON public.command_events FOR EACH ROW EXECUTE FUNCTION public.command_events_guard();

CREATE OR REPLACE TRIGGER commands_stay BEFORE DELETE OR TRUNCATE ON public.commands FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();

CREATE OR REPLACE TRIGGER attempts_stay BEFORE DELETE OR TRUNCATE ON public.attempts FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();

CREATE OR REPLACE TRIGGER command_events_written_once BEFORE UPDATE OR TRUNCATE ON public.command_events FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();

CREATE OR REPLACE TRIGGER command_outbox_written_once BEFORE UPDATE OR TRUNCATE ON public.command_outbox FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();

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

GRANT SELECT ON public.principal_tokens TO tidemark_app;

GRANT SELECT, INSERT, UPDATE, DELETE ON public.limits TO tidemark_app;

GRANT SELECT, INSERT, UPDATE (approved_by, approved_reason, approved_at, expires_at) ON public.approvals TO tidemark_app;

GRANT SELECT ON public.orders, public.current_orders, public.moved_states, public.order_updates, public.order_bindings, public.lanes, public.lane_batches, public.shards, public.relay_positions, public.published_topics, public.accounts, public.quarantine,
  public.repair_requests, public.quarantine_jobs, public.commands, public.attempts, public.evidence, public.command_events, public.command_outbox, public.halt_events, public.event_floor,
  public.command_fence, public.cancel_alls, public.cancel_timers, public.halts,
  public.limits, public.approvals, public.audit_log TO tidemark_reader;

GRANT SELECT (principal, number, scopes, accounts, created_at, expires_at) ON public.principal_tokens TO tidemark_reader;

GRANT EXECUTE ON FUNCTION public.apply_batch, public.apply_batch_with_bindings, public.heads_of, public.order_chain, public.log_partitions, public.ensure_log_partitions,
  public.move_order_states, public.drop_log_partition, public.lane_batch, public.unpublished_lanes, public.lacks_actions, public.lacks_commits, public.notice_loss, public.end_token_again TO tidemark_app;

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

GRANT EXECUTE ON FUNCTION public.canonical_symbol, public.symbol_letters, public.order_chain, public.log_partitions TO tidemark_reader;
