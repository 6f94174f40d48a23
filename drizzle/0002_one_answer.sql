-- Each fact stands once. What changes for tables and rows is written by hand; the functions below the line are copied from src/store/sql.

-- The platform may give an order's id again: each order under it has a binding of its own, and a place of its own. Readers go on while the index is built.
CREATE UNIQUE INDEX order_bindings_stream_order_id_attempt_id_pk ON public.order_bindings (stream, order_id, attempt_id);
--> statement-breakpoint
ALTER TABLE public.order_bindings DROP CONSTRAINT order_bindings_stream_order_id_pk,
  ADD CONSTRAINT order_bindings_stream_order_id_attempt_id_pk PRIMARY KEY USING INDEX order_bindings_stream_order_id_attempt_id_pk;
--> statement-breakpoint
-- A partition is dropped once no snapshot is from before its last move.
ALTER TABLE public.moved_states ADD COLUMN moved_by xid8 DEFAULT pg_current_xact_id() NOT NULL, ADD COLUMN moved_at timestamptz DEFAULT now() NOT NULL;
DROP FUNCTION public.lane_to_move(text, bigint);

-- A halt is its row: no process says any more which halts it holds.
DROP FUNCTION public.hold_halts(integer, bigint, text[]);
DROP FUNCTION public.without_halt(text, double precision);
DROP FUNCTION public.raise_halt(integer, bigint, text, text, text, text, text, double precision);
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
DELETE FROM public.published_topics WHERE kind IN ('continuity', 'witness', 'outcomes');

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
ALTER TABLE public.repair_requests RENAME COLUMN outcome TO result;
ALTER TABLE public.lanes RENAME COLUMN unfit TO unhealthy;
ALTER TABLE public.approvals DISABLE TRIGGER approvals_guard;
UPDATE public.approvals SET action = json_build_object('kind', 'resolve', 'commandId', action -> 'commandId', 'result', action -> 'outcome') WHERE action ->> 'kind' = 'settle';
ALTER TABLE public.approvals ENABLE TRIGGER approvals_guard;

-- The journal of commands is one table to which rows are added. What the tables of before have becomes rows of it: an opening, further attempts, the steps that are
-- still there, and how the command stands (`kept`). Those that were never a row for consumers have numbers below zero, and transaction 0.
LOCK TABLE public.commands, public.attempts, public.evidence, public.command_events, public.command_outbox, public.halt_events IN SHARE ROW EXCLUSIVE MODE;
CREATE SEQUENCE public.event_numbers AS bigint START 549755813888;
CREATE FUNCTION public.journal_allows(p_kind text, p_number integer, p_version integer, p_from text, p_state text, p_attempt integer, p_attempt_from text, p_attempt_state text,
  p_attempt_id text, p_order_id text, p_resolved_at timestamptz) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF p_kind = 'void' THEN
    RETURN num_nonnulls(p_number, p_version, p_from, p_state, p_attempt, p_attempt_from, p_attempt_state, p_attempt_id, p_order_id, p_resolved_at) = 0;
  END IF;
  IF num_nulls(p_number, p_version, p_state) > 0 OR p_version < 1 OR num_nulls(p_attempt, p_attempt_state) = 1
    OR (p_resolved_at IS NOT NULL) <> (p_state IN ('refused', 'not_sent', 'applied', 'rejected', 'moot'))
    OR NOT (starts_with(p_attempt_id, 'tm-') AND length(p_attempt_id) <= 64)
  THEN
    RETURN false;
  END IF;
  IF p_kind = 'opening' THEN
    RETURN p_number = 1 AND p_version = 1 AND p_state IN ('open', 'refused') AND num_nonnulls(p_from, p_attempt_from) = 0
      AND num_nulls(p_attempt_id, p_attempt_state) = CASE p_state WHEN 'open' THEN 0 ELSE 2 END AND (p_attempt_state IN ('prepared', 'sending')) IS NOT FALSE;
  END IF;
  -- The promise itself: a second write comes only after the one before it is recorded as not sent, or was refused.
  RETURN p_kind IN ('step', 'mark', 'miss', 'kept') AND p_number > 1 AND (p_attempt_state IS NULL) = (p_attempt_from IS NULL)
    AND p_state = ANY (CASE p_from
      WHEN 'open' THEN '{open,refused,not_sent,accepted,unknown,applied,rejected,moot,conflict}'::text[]
      WHEN 'unknown' THEN '{unknown,refused,not_sent,accepted,applied,rejected,moot,conflict}'
      WHEN 'accepted' THEN '{accepted,not_sent,applied,rejected,moot,conflict}'
      WHEN 'conflict' THEN '{conflict,not_sent,applied,rejected,moot}'
      WHEN 'refused' THEN '{refused,moot,accepted,applied,rejected}'
      WHEN 'not_sent' THEN '{not_sent,accepted,applied,rejected}'
      WHEN 'rejected' THEN '{rejected,accepted,applied}'
      WHEN 'moot' THEN '{moot,accepted,applied,rejected}'
      WHEN 'applied' THEN '{applied}'
    END)
    AND CASE p_kind
      WHEN 'mark' THEN p_state = 'open' AND p_from = 'open' AND p_attempt_from = 'prepared' AND p_attempt_state = 'sending' AND p_attempt_id IS NULL
      WHEN 'miss' THEN p_state = 'unknown' AND p_from = 'unknown' AND num_nonnulls(p_attempt_state, p_attempt_id) = 0
      ELSE (p_attempt_from IS NULL OR p_attempt_state = ANY (CASE p_attempt_from
          WHEN 'prepared' THEN '{not_sent}'::text[]
          WHEN 'sending' THEN '{not_sent,refused,rejected,accepted,unknown}'
          WHEN 'unknown' THEN '{unknown,not_sent,refused,rejected,accepted}'
          ELSE ARRAY[p_attempt_from]
        END))
        AND (p_attempt_id IS NULL OR p_state = 'open' AND p_attempt_state IN ('not_sent', 'refused') AND p_attempt_state IS NOT NULL)
    END;
END
$$;

-- The streams of domain/streams.ts; a test compares.
CREATE FUNCTION public.streams() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY['account', 'prediction', 'alpaca', 'alpaca_paper'];

CREATE FUNCTION public.journal_opening_allows(p_kind text, p_command_id uuid, p_principal text, p_key text, p_key_held boolean, p_request_kind text, p_stream text, p_account_id text,
  p_symbol text, p_side text, p_caller_ref text, p_supersedes uuid, p_exposure numeric, p_limits_change bigint, p_token_number integer, p_order_id text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF p_kind <> 'opening' THEN
    RETURN (p_command_id IS NULL) = (p_kind = 'void') AND num_nonnulls(p_principal, p_key, p_key_held, p_request_kind, p_stream, p_account_id, p_symbol, p_side, p_caller_ref,
      p_supersedes, p_exposure, p_limits_change, p_token_number) = 0;
  END IF;
  RETURN num_nulls(p_command_id, p_principal, p_key, p_key_held, p_request_kind, p_stream, p_account_id, p_limits_change) = 0 AND p_stream = ANY (public.streams())
    AND CASE p_request_kind WHEN 'place' THEN num_nulls(p_symbol, p_side) = 0 WHEN 'replace' THEN p_order_id IS NOT NULL
      WHEN 'cancel' THEN p_order_id IS NOT NULL AND p_supersedes IS NULL ELSE false END;
END
$$;
SELECT setval('public.event_numbers', (s.last_value >> 40 << 40) + (1::bigint << 39)) FROM public.command_events_id_seq s;
CREATE TABLE public.journal (
  seq bigint NOT NULL,
  tx_id "xid8" DEFAULT pg_current_xact_id() NOT NULL,
  command_id uuid,
  at timestamptz NOT NULL,
  recorded_at timestamptz DEFAULT now() NOT NULL,
  epoch bigint NOT NULL,
  shard integer NOT NULL,
  number integer,
  version integer,
  kind text NOT NULL,
  from_state text,
  state text,
  attempt integer,
  attempt_from text,
  attempt_state text,
  attempt_id text,
  order_id text,
  order_status text,
  resolved_at timestamptz,
  principal text,
  idempotency_key text,
  key_held boolean,
  request_kind text,
  stream text,
  account_id text,
  symbol text,
  side text,
  caller_ref text,
  supersedes uuid,
  exposure numeric,
  limits_change bigint,
  token_number integer,
  body text NOT NULL,
  CONSTRAINT journal_row CHECK (public.journal_allows(kind, number, version, from_state, state, attempt, attempt_from, attempt_state, attempt_id, order_id, resolved_at)),
  CONSTRAINT journal_opening CHECK (public.journal_opening_allows(kind, command_id, principal, idempotency_key, key_held, request_kind, stream, account_id, symbol, side, caller_ref, supersedes, exposure, limits_change, token_number, order_id))
);
CREATE TABLE public.open_commands (
  account_id text NOT NULL,
  command_id uuid NOT NULL,
  shard integer NOT NULL,
  standing text NOT NULL,
  CONSTRAINT open_commands_pkey PRIMARY KEY(account_id,command_id),
  CONSTRAINT open_commands_standing CHECK (standing in ('open', 'doubtful', 'resolved'))
);
CREATE TABLE public.facts (
  command_id uuid NOT NULL,
  behind integer NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY,
  recorded_at timestamptz DEFAULT now() NOT NULL,
  body text NOT NULL,
  CONSTRAINT facts_pkey PRIMARY KEY(command_id,behind,id)
);
CREATE TABLE public.result_positions (
  shard integer PRIMARY KEY NOT NULL,
  seq bigint NOT NULL,
  epoch bigint NOT NULL
);
--> statement-breakpoint
-- An attempt with all that it has: its state, when it was sent and answered, its reason, its id, epoch and preparation.
CREATE FUNCTION pg_temp.attempts_of(p_command_id uuid, p_was json) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
  RETURN (SELECT coalesce(json_agg(json_build_array(
      CASE WHEN p_was IS NULL THEN to_json(a.state) ELSE t.was -> 0 END, CASE WHEN p_was IS NULL THEN to_json(public.time_to_ms(a.sending_at)) ELSE t.was -> 1 END,
      CASE WHEN p_was IS NULL THEN to_json(public.time_to_ms(a.answered_at)) ELSE t.was -> 2 END, CASE WHEN p_was IS NULL THEN a.reason ELSE t.was -> 3 END,
      a.attempt_id, a.epoch::text, public.time_to_ms(a.prepared_at)) ORDER BY a.number), '[]')
    FROM public.attempts a CROSS JOIN LATERAL (SELECT p_was -> a.number - 1) AS t(was) WHERE a.command_id = p_command_id AND (p_was IS NULL OR t.was IS NOT NULL));
END
$$;
INSERT INTO public.journal (shard, epoch, seq, tx_id, command_id, number, version, kind, from_state, state, attempt, attempt_from, attempt_state, attempt_id, order_id,
  order_status, at, recorded_at, resolved_at, body, principal, idempotency_key, key_held, request_kind, stream, account_id, symbol, side, caller_ref, supersedes, exposure,
  limits_change, token_number)
SELECT c.shard, coalesce(r.epoch, 0), coalesce(r.id, -row_number() OVER ()), coalesce(r.tx_id, '0'), c.command_id, row_number() OVER of_command, r.version, r.kind,
  lag(r.state) OVER of_command, r.state, r.attempt, r.attempt_from, r.attempt_state, r.attempt_id, r.order_id, r.order_status, r.at, coalesce(r.recorded_at, r.at), r.resolved_at,
  json_build_object('requestHash', o.request_hash, 'request', o.request, 'baseline', o.baseline, 'deadlineAtMs', public.time_to_ms(o.deadline_at),
    'updatedAtMs', public.time_to_ms(r.updated_at), 'reason', r.reason, 'presumedAbsent', r.presumed_absent, 'pendingRevision', r.pending_revision,
    'pendingVersion', r.pending_version::text, 'misses', r.misses, 'attempts', r.attempts, 'evidence', json_build_array())::text,
  o.principal, o.idempotency_key, o.key_held, o.kind, o.stream, o.account_id, o.symbol, o.side, o.caller_ref, o.supersedes, o.exposure, o.limits_change, o.token_number
FROM public.commands c
LEFT JOIN public.attempts f ON f.command_id = c.command_id AND f.number = 1
LEFT JOIN public.command_events e ON e.command_id = c.command_id AND e.version = 1
CROSS JOIN LATERAL (
  SELECT 0 AS part, 1 AS place, e.id, e.tx_id, f.epoch, 1 AS version, 'opening' AS kind, coalesce(e.state, CASE WHEN f.attempt_id IS NULL THEN 'refused' ELSE 'open' END) AS state,
    f.number AS attempt, NULL AS attempt_from, CASE WHEN f.attempt_id IS NOT NULL THEN coalesce(e.attempts -> 0 ->> 0, 'sending') END AS attempt_state, f.attempt_id,
    coalesce(e.order_id, CASE WHEN c.kind <> 'place' THEN c.order_id END) AS order_id, e.order_status, c.created_at AS at, e.recorded_at,
    CASE WHEN f.attempt_id IS NULL THEN c.created_at END AS resolved_at, c.created_at AS updated_at, CASE WHEN f.attempt_id IS NULL THEN coalesce(e.reason, c.reason) END AS reason,
    false AS presumed_absent, NULL::bigint AS pending_revision, NULL::bigint AS pending_version, 0 AS misses,
    CASE WHEN e.id IS NOT NULL THEN pg_temp.attempts_of(c.command_id, e.attempts) WHEN f.attempt_id IS NULL THEN '[]'
      ELSE json_build_array(json_build_array('sending', public.time_to_ms(f.sending_at), NULL, NULL, f.attempt_id, f.epoch::text, public.time_to_ms(f.prepared_at))) END AS attempts
  UNION ALL
  SELECT 1, a.number, NULL, NULL, a.epoch, 1, 'kept', 'open', b.number, 'sending', b.state, a.attempt_id, CASE WHEN c.kind <> 'place' THEN c.order_id END, NULL, a.prepared_at, NULL,
    NULL, c.created_at, NULL, false, NULL, NULL, 0, (
    SELECT json_agg(json_build_array(x.state, public.time_to_ms(x.sending_at), public.time_to_ms(x.answered_at), x.reason, x.attempt_id, x.epoch::text, public.time_to_ms(x.prepared_at)) ORDER BY x.number)
    FROM public.attempts x WHERE x.command_id = c.command_id AND x.number <= a.number)
  FROM public.attempts a JOIN public.attempts b ON b.command_id = a.command_id AND b.number = a.number - 1 WHERE a.command_id = c.command_id
  UNION ALL
  SELECT 2, s.version, s.id, s.tx_id, NULL, s.version, 'step', s.state, NULL, NULL, NULL, NULL, s.order_id, s.order_status, s.updated_at, s.recorded_at, s.settled_at, s.updated_at,
    s.reason, s.presumed_absent, s.pending_revision, s.pending_version, s.misses, pg_temp.attempts_of(c.command_id, s.attempts)
  FROM public.command_events s WHERE s.command_id = c.command_id AND s.version > 1
  UNION ALL
  SELECT 3, 1, NULL, NULL, NULL, c.version, 'kept', c.state, NULL, NULL, NULL, NULL, c.order_id, NULL, c.updated_at, NULL, c.settled_at, c.updated_at, c.reason, c.presumed_absent,
    c.pending_revision, c.pending_version, c.misses, pg_temp.attempts_of(c.command_id, NULL)) r
LEFT JOIN public.commands o ON r.part = 0 AND o.command_id = c.command_id
WINDOW of_command AS (PARTITION BY c.command_id ORDER BY r.part, r.place);
--> statement-breakpoint
ALTER TABLE public.journal ADD CONSTRAINT journal_pkey PRIMARY KEY (shard, seq);
CREATE UNIQUE INDEX journal_one_per_key ON public.journal (idempotency_key, principal, (case when not key_held then command_id end)) NULLS NOT DISTINCT
  WHERE kind = 'opening';
CREATE UNIQUE INDEX journal_numbers ON public.journal (command_id,number);
CREATE INDEX journal_by_transaction ON public.journal (tx_id,seq);
CREATE UNIQUE INDEX journal_attempts ON public.journal (attempt_id) WHERE attempt_id is not null;
CREATE INDEX journal_newest ON public.journal (at,command_id) WHERE kind = 'opening';
CREATE INDEX journal_by_account ON public.journal (account_id,at,command_id) WHERE kind = 'opening';
CREATE INDEX journal_successors ON public.journal (supersedes) WHERE supersedes is not null;
CREATE INDEX journal_by_caller_ref ON public.journal (caller_ref,principal) WHERE caller_ref is not null;
CREATE INDEX journal_of_order ON public.journal (stream,order_id) WHERE kind = 'opening' and order_id is not null;
CREATE INDEX journal_came_to_nothing ON public.journal (shard,command_id) WHERE resolved_at is not null and (order_id is null or state <> 'applied');
--> statement-breakpoint
INSERT INTO public.facts (command_id, behind, recorded_at, body)
SELECT e.command_id, 1, e.recorded_at, json_build_array(json_build_object('kind', e.kind, 'code', e.code, 'detail', d.detail, 'attemptId', e.attempt_id,
  'atMs', extract(epoch FROM e.at) * 1000))::text
FROM public.evidence e CROSS JOIN LATERAL (SELECT CASE WHEN e.kind = 'person' AND e.detail ->> 'outcome' <> ''
  -- A person's word has the result: only prediction markets have outcomes.
  THEN (SELECT json_object_agg(CASE k.key WHEN 'outcome' THEN 'result' ELSE k.key END, k.value) FROM json_each(e.detail) k) ELSE e.detail END) AS d(detail)
ORDER BY e.command_id, e.number;
INSERT INTO public.open_commands (account_id, command_id, shard, standing)
SELECT c.account_id, c.command_id, c.shard, CASE WHEN c.settled_at IS NOT NULL THEN 'resolved' WHEN c.state IN ('unknown', 'conflict') THEN 'doubtful' ELSE 'open' END
FROM public.commands c WHERE c.settled_at IS NULL OR EXISTS (SELECT FROM public.attempts a WHERE a.command_id = c.command_id AND a.in_flight);
-- Kafka has all below the lowest step that is not published.
INSERT INTO public.result_positions (shard, seq, epoch)
SELECT s.shard, coalesce((SELECT min(o.id) - 1 FROM public.command_outbox o WHERE o.shard = s.shard), (SELECT greatest(max(j.seq), 0) FROM public.journal j WHERE j.shard = s.shard), 0), s.epoch
FROM public.shards s;
--> statement-breakpoint
DROP FUNCTION public.write_group(text[], bigint[], bigint[], json[]), public.write_one(text, integer, bigint, json), public.open_command(integer, bigint, json),
  public.mark_sending(integer, bigint, text, double precision), public.step_command(integer, bigint, json), public.note_misses(integer, bigint, json),
  public.take_over_commands(integer, bigint, double precision), public.add_command_evidence(uuid, json), public.append_evidence(uuid, json), public.tell_step(uuid),
  public.event_json(public.command_events), public.command_json(public.commands), public.attempt_json(public.attempts), public.order_status_of(public.commands),
  public.command_at(public.commands, text, json), public.may_supersede(json, public.commands), public.sending_objection(public.commands);
ALTER TABLE public.halt_events ALTER COLUMN id SET DEFAULT nextval('public.event_numbers');
DROP TABLE public.command_outbox, public.command_events, public.evidence, public.attempts, public.commands;
DROP FUNCTION public.commands_guard(), public.attempts_guard(), public.command_events_guard();

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

CREATE OR REPLACE FUNCTION public.order_status_of(p_command_id uuid, p_kind text, p_stream text, p_order_id text, p_account_id text, p_incarnation text) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  -- Of the command's own order: the platform may have given the id again since. The order itself is read only where that is so.
  RETURN (SELECT o.status FROM public.orders o WHERE o.stream = p_stream AND o.order_id = p_order_id AND o.account_id = p_account_id
    AND CASE WHEN p_kind <> 'place' THEN o.join_state ->> 'incarnation' IS NOT DISTINCT FROM p_incarnation
      WHEN o.join_state ->> 'incarnation' IS NULL THEN true
      ELSE (SELECT v.state ->> 'commandId' = p_command_id::text FROM public.current_orders v WHERE v.stream = p_stream AND v.order_id = p_order_id) END);
END
$$;

CREATE OR REPLACE FUNCTION public.command_json(p_command_id uuid, p_number integer DEFAULT NULL) RETURNS json
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  o public.journal;
  n public.journal;
  v_fault text;
BEGIN
  SELECT * INTO o FROM public.journal j WHERE j.command_id = p_command_id AND j.number = 1;
  SELECT * INTO n FROM public.journal j WHERE j.command_id = p_command_id AND j.number <= coalesce(p_number, 2147483647) ORDER BY j.number DESC LIMIT 1;
  BEGIN
    IF n.number > 1 AND NOT EXISTS (
      SELECT FROM public.journal j WHERE j.command_id = p_command_id AND j.number = n.number - 1 AND j.shard = n.shard AND j.state = n.from_state
        AND j.version + (n.kind = 'step')::integer <= n.version AND (j.order_id IS NULL OR j.order_id = n.order_id OR o.request_kind = 'replace' AND j.order_id = o.order_id)
        AND (n.attempt IS NULL OR j.body::json -> 'attempts' -> n.attempt - 1 ->> 0 = n.attempt_from AND n.body::json -> 'attempts' -> n.attempt - 1 ->> 0 = n.attempt_state))
    THEN
      v_fault := format('row %s does not follow the one before it', n.number);
    ELSE
      RETURN (SELECT json_build_object(
        'commandId', o.command_id, 'shard', o.shard, 'principal', o.principal, 'idempotencyKey', o.idempotency_key, 'requestHash', a."requestHash",
        'request', a.request, 'callerRef', o.caller_ref, 'supersedes', o.supersedes, 'state', n.state, 'version', n.version, 'orderId', n.order_id,
        'orderStatus', CASE WHEN p_number IS NOT NULL THEN n.order_status ELSE
          public.order_status_of(o.command_id, o.request_kind, o.stream, n.order_id, o.account_id, a.baseline ->> 'incarnation') END,
        'reason', b.reason, 'presumedAbsent', coalesce(b."presumedAbsent", false), 'pendingRevision', b."pendingRevision", 'pendingVersion', b."pendingVersion",
        'misses', coalesce(b.misses, 0), 'baseline', a.baseline, 'deadlineAtMs', a."deadlineAtMs", 'createdAtMs', public.time_to_ms(o.at),
        'updatedAtMs', coalesce(b."updatedAtMs", public.time_to_ms(n.at)), 'resolvedAtMs', public.time_to_ms(n.resolved_at),
        'attempts', (SELECT coalesce(json_agg(json_build_object('attemptId', coalesce(t.was ->> 4, o.attempt_id), 'number', t.number, 'state', t.was -> 0,
            'epoch', coalesce(t.was ->> 5, o.epoch::text), 'preparedAtMs', coalesce((t.was ->> 6)::bigint, public.time_to_ms(o.at)), 'sendingAtMs', t.was -> 1,
            'answeredAtMs', t.was -> 2, 'reason', t.was -> 3) ORDER BY t.number), '[]')
          FROM json_array_elements(b.attempts) WITH ORDINALITY AS t(was, number)))
        FROM json_to_record(o.body::json) AS a("requestHash" text, request json, baseline json, "deadlineAtMs" bigint)
        CROSS JOIN json_to_record(n.body::json) AS b(reason json, "presumedAbsent" boolean, "pendingRevision" bigint, "pendingVersion" text, misses integer,
          "updatedAtMs" bigint, attempts json));
    END IF;
  EXCEPTION WHEN data_exception THEN
    v_fault := format('row %s can''t be read: %s', n.number, SQLERRM);
  END;
  RETURN json_build_object('commandId', p_command_id, 'fault', v_fault, 'createdAtMs', public.time_to_ms(o.at), 'updatedAtMs', public.time_to_ms(n.at),
    'resolvedAtMs', public.time_to_ms(n.resolved_at));
END
$$;

CREATE OR REPLACE VIEW public.commands WITH (security_invoker = true) AS
SELECT o.command_id, o.shard, o.principal, o.idempotency_key, o.body::json ->> 'requestHash' AS request_hash, o.request_kind AS kind, o.stream, o.account_id, o.symbol, o.side,
  o.body::json -> 'request' AS request, o.caller_ref, o.supersedes, o.body::json -> 'baseline' AS baseline, o.exposure, o.limits_change, o.token_number,
  public.ms_to_time((o.body::json ->> 'deadlineAtMs')::double precision) AS deadline_at, o.at AS created_at, o.key_held, n.state, n.version, n.order_id,
  n.body::json -> 'reason' AS reason, coalesce((n.body::json ->> 'presumedAbsent')::boolean, false) AS presumed_absent,
  coalesce((n.body::json ->> 'misses')::integer, 0) AS misses, coalesce(public.ms_to_time((n.body::json ->> 'updatedAtMs')::double precision), n.at) AS updated_at,
  n.resolved_at, n.number
FROM public.journal o CROSS JOIN LATERAL (SELECT * FROM public.journal j WHERE j.command_id = o.command_id ORDER BY j.number DESC LIMIT 1) n
WHERE o.kind = 'opening';

CREATE OR REPLACE VIEW public.attempts WITH (security_invoker = true) AS
SELECT p.attempt_id, p.command_id, k.number, coalesce((t.was ->> 5)::bigint, p.epoch) AS epoch,
  coalesce(public.ms_to_time((t.was ->> 6)::double precision), p.at) AS prepared_at, t.was ->> 0 AS state, public.ms_to_time((t.was ->> 1)::double precision) AS sending_at,
  public.ms_to_time((t.was ->> 2)::double precision) AS answered_at, t.was -> 3 AS reason
FROM public.journal p CROSS JOIN LATERAL (SELECT json_array_length(p.body::json -> 'attempts') AS number) k
CROSS JOIN LATERAL (
  SELECT j.body::json -> 'attempts' -> k.number - 1 AS was FROM public.journal j WHERE j.command_id = p.command_id ORDER BY j.number DESC LIMIT 1) t
WHERE p.attempt_id IS NOT NULL;

CREATE OR REPLACE VIEW public.evidence WITH (security_invoker = true) AS
SELECT e.command_id, (row_number() OVER (PARTITION BY e.command_id ORDER BY e.behind, e.id, e.place))::integer AS number, e.fact ->> 'kind' AS kind, e.fact ->> 'code' AS code,
  e.fact -> 'detail' AS detail, e.fact ->> 'attemptId' AS attempt_id, public.ms_to_time((e.fact ->> 'atMs')::double precision) AS at, e.recorded_at
FROM (
  SELECT j.command_id, j.number AS behind, 0 AS id, f.place, f.fact, j.recorded_at
  FROM public.journal j CROSS JOIN json_array_elements(coalesce(j.body::json -> 'evidence', CASE WHEN j.kind IN ('opening', 'mark') THEN
    json_build_array(json_build_object('kind', 'note', 'code', coalesce(j.attempt_state, 'refused'), 'detail', CASE j.state WHEN 'refused' THEN j.body::json -> 'reason' ELSE '{}' END,
      'attemptId', coalesce(j.attempt_id, j.body::json -> 'attempts' -> j.attempt - 1 ->> 4, (SELECT o.attempt_id FROM public.journal o WHERE o.command_id = j.command_id AND o.number = 1)),
      'atMs', coalesce(j.body::json -> 'attempts' -> j.attempt - 1 -> 1, to_json(public.time_to_ms(j.at))))) END)) WITH ORDINALITY AS f(fact, place)
  WHERE j.command_id IS NOT NULL
  UNION ALL
  SELECT k.command_id, k.behind, k.id, f.place, f.fact, k.recorded_at FROM public.facts k CROSS JOIN json_array_elements(k.body::json) WITH ORDINALITY AS f(fact, place)) e;

CREATE OR REPLACE VIEW public.command_events WITH (security_invoker = true) AS
SELECT tx_id, seq AS id, shard, command_id, number, version, state, order_status, recorded_at FROM public.journal WHERE kind IN ('opening', 'step');

CREATE OR REPLACE FUNCTION public.bindings_of(p_attempt_ids text[], OUT attempt_id text, OUT command_id uuid, OUT caller_ref text, OUT stream text, OUT account_id text, OUT side text)
RETURNS SETOF record
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET plan_cache_mode = 'force_generic_plan'
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  RETURN QUERY SELECT a.attempt_id, o.command_id, o.caller_ref, o.stream, o.account_id, o.side
  FROM unnest(p_attempt_ids) AS k(id) JOIN public.journal a ON a.attempt_id = k.id JOIN public.journal o ON o.command_id = a.command_id AND o.number = 1
  WHERE o.request_kind <> 'cancel';
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

CREATE OR REPLACE FUNCTION public.add_facts(p_command_id uuid, p_facts text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO public.facts (command_id, behind, body)
  SELECT p_command_id, j.number, p_facts FROM public.journal j WHERE j.command_id = p_command_id ORDER BY j.number DESC LIMIT 1;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'there is no command %', p_command_id USING ERRCODE = 'TM012';
  END IF;
END
$$;

CREATE OR REPLACE FUNCTION public.same_underlying(p_stream text, p_symbol text, p_underlying text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN public.underlying_symbol(p_symbol) = p_underlying
  OR p_stream <> 'prediction' AND public.symbol_letters(public.underlying_symbol(p_symbol)) = public.symbol_letters(p_underlying);

CREATE OR REPLACE FUNCTION public.exposure_of(p_account text, p_symbol text, OUT amount numeric, OUT unvalued text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  WITH e AS MATERIALIZED (
    SELECT 'order ' || o.order_id AS name, o.stream, o.order_id, s.replaces, CASE
      WHEN s."leavesQty" = 0 THEN 0
      -- It is for an amount of money: as much of it as its fills left.
      WHEN s."leavesQty" IS NULL THEN greatest(s.notional - s."cumQty" * coalesce(s."avgPrice", 0), 0)
      -- As `measureCommand` values them: a buy of a prediction at its price, anything else at the most a contract can be worth.
      WHEN o.stream = 'prediction' THEN s."leavesQty" * CASE WHEN lower(s.side) = 'buy' THEN coalesce((s.working ->> 'price')::numeric, s.price, 1) ELSE 1 END
      WHEN c.exposure IS NULL AND u.bounded IS NOT TRUE THEN NULL
      -- A price of its own, or what it was valued at when it was placed here.
      ELSE s."leavesQty" * greatest(
        abs(coalesce((s.working ->> 'price')::numeric, s.price)) * u.shares, abs(s."stopPrice") * u.shares,
        c.exposure / nullif((c.request -> 'terms' ->> 'qty')::numeric, 0))
      END AS value
    FROM unnest(public.streams()) AS k(stream)
    JOIN public.current_orders o ON o.account_id = p_account AND o.stream = k.stream AND o.is_open
    CROSS JOIN LATERAL json_to_record(o.state) AS s(instrument json, side text, price numeric, "stopPrice" numeric, working json, notional numeric, "cumQty" numeric, "avgPrice" numeric, "leavesQty" numeric, "commandId" uuid, replaces text)
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
    SELECT 'command ' || c.command_id, NULL, NULL, NULL, c.exposure
    FROM public.open_commands w JOIN public.commands c ON c.command_id = w.command_id
    WHERE w.account_id = p_account AND w.standing <> 'resolved' AND c.kind <> 'cancel'
      AND NOT EXISTS (SELECT FROM public.order_bindings b WHERE b.command_id = c.command_id AND b.matches)
      AND (p_symbol IS NULL OR public.same_underlying(c.stream, coalesce(c.symbol,
        (SELECT o.symbol FROM public.orders o WHERE o.stream = c.stream AND o.order_id = c.order_id)), p_symbol))
  )
  SELECT coalesce(sum(CASE WHEN b.value IS NULL THEN e.value ELSE greatest(e.value - b.value, 0) END), 0), min(e.name) FILTER (WHERE e.value IS NULL) INTO amount, unvalued
  FROM e LEFT JOIN e AS b ON b.stream = e.stream AND b.order_id = e.replaces;
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
    SELECT count(*) INTO v_count FROM public.journal c
    WHERE c.kind = 'opening' AND c.account_id = v_account AND c.at > v_at - interval '1 minute' AND c.request_kind <> 'cancel';
    IF b.own_rate IS NOT NULL AND (p_all OR v_count >= b.own_rate) THEN
      SELECT count(*) INTO v_own FROM public.journal c
      WHERE c.kind = 'opening' AND c.account_id = v_account AND c.at > v_at - interval '1 minute' AND c.request_kind <> 'cancel' AND c.principal = v_principal;
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
        OR c.stream <> 'prediction' AND public.symbol_letters(c.symbol) = public.symbol_letters(p -> 'request' -> 'terms' ->> 'symbol'))
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
    SELECT 1 + (SELECT count(*) FROM unnest(public.streams()) AS k(stream)
        JOIN public.orders o ON o.account_id = v_account AND o.stream = k.stream AND o.is_open)
      + (SELECT count(*) FROM public.open_commands c JOIN public.journal m ON m.command_id = c.command_id AND m.number = 1 AND m.request_kind = 'place'
        WHERE c.account_id = v_account AND c.standing <> 'resolved'
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

CREATE OR REPLACE FUNCTION public.uses_reference_again(p json) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN (p ->> 'callerRefOnce')::boolean IS TRUE
    AND EXISTS (SELECT FROM public.journal WHERE caller_ref = p ->> 'callerRef' AND principal = p ->> 'principal');
END
$$;

CREATE OR REPLACE FUNCTION public.may_supersede(p json) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN EXISTS (SELECT FROM public.commands c WHERE c.command_id = (p ->> 'supersedes')::uuid
    AND c.kind = p -> 'request' ->> 'kind' AND c.account_id = p -> 'request' ->> 'accountId'
    AND (c.state = 'unknown' AND c.presumed_absent OR c.state = 'conflict' AND c.kind = 'replace'
      AND c.created_at <= public.ms_to_time((p ->> 'atMs')::double precision) - interval '10 minutes')
    AND NOT (c.kind = 'place' AND public.is_superseded(c.command_id)));
END
$$;

CREATE OR REPLACE FUNCTION public.preview_command(p json) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  -- The server itself refuses a write from here on, to the end of the transaction.
  PERFORM set_config('transaction_read_only', 'on', true);
  RETURN json_build_object('callerRefReused', public.uses_reference_again(p),
    'notSuperseded', p ->> 'supersedes' IS NOT NULL AND NOT public.may_supersede(p),
    'limits', (SELECT coalesce(json_agg(w), '[]') FROM public.weigh_limits(p, true) AS w));
END
$$;

CREATE OR REPLACE FUNCTION public.opening_objection(p json) RETURNS text
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

CREATE OR REPLACE FUNCTION public.sending_objection(p_principal text, p_account_id text, p_token_number integer, p_limits_change bigint) RETURNS json
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

CREATE OR REPLACE FUNCTION public.append_journal(p_alone boolean, p_rows json, p_more json[], p_lines json[], OUT place integer, OUT said text, OUT order_status text, OUT more json)
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

CREATE OR REPLACE FUNCTION public.take_over_commands(p_shard integer, p_epoch bigint) RETURNS bigint
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

CREATE OR REPLACE FUNCTION public.highest_number(p_shard integer) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN greatest((SELECT j.seq FROM public.journal j WHERE j.shard = p_shard ORDER BY j.seq DESC LIMIT 1),
    (SELECT p.seq FROM public.result_positions p WHERE p.shard = p_shard), (SELECT last_value >> 40 << 40 FROM public.event_numbers), 0);
END
$$;

CREATE OR REPLACE FUNCTION public.cancel_all_holds_key(c public.cancel_alls, p_at timestamptz) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN c.created_at > p_at - interval '7 days' OR c.ended_at IS NULL OR EXISTS (
    SELECT FROM public.open_commands w JOIN public.journal m ON m.command_id = w.command_id AND m.number = 1
    WHERE w.standing <> 'resolved' AND m.principal = c.principal AND starts_with(m.idempotency_key, 'cancel-all:' || c.cancel_all_id || ':'));
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
        SELECT FROM public.open_commands WHERE standing = 'doubtful' LIMIT v_most) AS c;
    ELSE
      v_most := (p_most ->> 'account')::integer;
      v_of := ' of the account';
      SELECT count(*) INTO v_found FROM (
        SELECT FROM public.open_commands WHERE account_id = v_account_id AND standing = 'doubtful' LIMIT v_most) AS c;
    END IF;
    CONTINUE WHEN v_found < v_most;
    v_raised := array_append(v_raised, public.halt_json(public.raise_halt(gen_random_uuid()::text, v_account_id, 'unresolved',
      format('%s commands%s have a result that is not known', v_most, v_of), 'tidemark', p_at_ms)));
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

CREATE OR REPLACE FUNCTION public.journal_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF OLD.key_held AND NOT NEW.key_held AND (SELECT resolved_at FROM public.journal WHERE command_id = OLD.command_id ORDER BY number DESC LIMIT 1) IS NOT NULL THEN
    OLD.key_held := false;
    IF OLD IS NOT DISTINCT FROM NEW THEN
      RETURN NEW;
    END IF;
  END IF;
  RAISE EXCEPTION 'a row of the journal never changes, but that the key of a final command is given up once' USING ERRCODE = 'TM010';
END
$$;

CREATE OR REPLACE TRIGGER journal_guard BEFORE UPDATE ON public.journal FOR EACH ROW EXECUTE FUNCTION public.journal_guard();

CREATE OR REPLACE TRIGGER facts_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON public.facts FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();

CREATE OR REPLACE TRIGGER journal_stays BEFORE DELETE OR TRUNCATE ON public.journal FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();

GRANT USAGE ON SCHEMA public TO tidemark_app, tidemark_reader;

GRANT SELECT ON public.orders, public.current_orders, public.order_updates, public.order_bindings, public.lane_batches TO tidemark_app;

GRANT SELECT, INSERT, UPDATE ON public.lanes, public.relay_positions, public.published_topics, public.accounts TO tidemark_app;

GRANT SELECT, UPDATE (lane, epoch, since, pinned) ON public.shards TO tidemark_app;

GRANT SELECT, UPDATE (dealt_at), DELETE ON public.dead_letters TO tidemark_app;

GRANT SELECT, INSERT, UPDATE ON public.credentials TO tidemark_app;

GRANT SELECT, INSERT (kind, stream, account_id, dead_letter_id, job_id, since, asked_by, reason, answered_at, result, detail),
  UPDATE (answered_at, result, detail), DELETE ON public.repair_requests TO tidemark_app;

GRANT SELECT, INSERT, UPDATE (ended_at, cancelled_by), DELETE ON public.dead_letter_jobs TO tidemark_app;

GRANT SELECT, INSERT, UPDATE (key_held) ON public.journal TO tidemark_app;

GRANT SELECT, INSERT ON public.facts, public.audit_log TO tidemark_app;

GRANT SELECT, INSERT, UPDATE (standing), DELETE ON public.open_commands TO tidemark_app;

GRANT SELECT, INSERT, UPDATE ON public.result_positions TO tidemark_app;

GRANT SELECT ON public.commands, public.attempts, public.evidence, public.command_events TO tidemark_app;

GRANT SELECT, INSERT, UPDATE (key_held, ended_at) ON public.cancel_alls TO tidemark_app;

GRANT SELECT, INSERT, UPDATE (timer_id, fires_at, ended_at, changes) ON public.cancel_timers TO tidemark_app;

GRANT SELECT, INSERT, UPDATE (cleared_at, cleared_by, cleared_reason) ON public.halts TO tidemark_app;

GRANT SELECT, DELETE ON public.halt_events TO tidemark_app;

GRANT SELECT, INSERT, UPDATE ON public.event_floor TO tidemark_app;

GRANT SELECT ON SEQUENCE public.event_numbers TO tidemark_app;

GRANT SELECT ON public.principal_tokens TO tidemark_app;

GRANT SELECT, INSERT, UPDATE, DELETE ON public.limits TO tidemark_app;

GRANT SELECT, INSERT, UPDATE (approved_by, approved_reason, approved_at, expires_at) ON public.approvals TO tidemark_app;

GRANT SELECT ON public.orders, public.current_orders, public.moved_states, public.order_updates, public.order_bindings, public.lanes, public.lane_batches, public.shards, public.relay_positions, public.published_topics, public.accounts, public.dead_letters,
  public.repair_requests, public.dead_letter_jobs, public.journal, public.open_commands, public.facts, public.result_positions, public.commands, public.attempts, public.evidence, public.command_events, public.halt_events, public.event_floor,
  public.cancel_alls, public.cancel_timers, public.halts,
  public.limits, public.approvals, public.audit_log TO tidemark_reader;

GRANT SELECT (principal, number, scopes, accounts, created_at, expires_at) ON public.principal_tokens TO tidemark_reader;

GRANT EXECUTE ON FUNCTION public.apply_batch, public.apply_batch_with_bindings, public.heads_of, public.order_in, public.order_chain, public.log_partitions, public.ensure_log_partitions,
  public.move_order_states, public.drop_log_partition, public.log_kept_by, public.no_state, public.lane_batch, public.unpublished_lanes, public.lacks_acts, public.lacks_commits, public.notice_loss, public.end_token_again TO tidemark_app;

GRANT EXECUTE ON FUNCTION public.ms_to_time, public.time_to_ms, public.order_status_of, public.command_json, public.bindings_of, public.hold_command_fence, public.add_facts,
  public.is_superseded, public.opening_objection, public.close_sending, public.try_sending, public.sending_objection, public.append_journal, public.add_audit_lines,
  public.take_over_commands, public.highest_number, public.journal_allows, public.journal_opening_allows TO tidemark_app;

GRANT EXECUTE ON FUNCTION public.cancel_all_holds_key, public.open_cancel_all, public.end_cancel_all, public.cancel_all_json, public.halt_json, public.raise_halt,
  public.halt_doubtful, public.clear_halts TO tidemark_app;

GRANT EXECUTE ON FUNCTION public.set_cancel_timers, public.end_cancel_timer TO tidemark_app;

GRANT EXECUTE ON FUNCTION public.ms_to_time, public.time_to_ms, public.order_status_of, public.command_json, public.cancel_all_json TO tidemark_reader;

GRANT EXECUTE ON FUNCTION public.streams, public.canonical_symbol, public.symbol_letters, public.underlying_symbol, public.same_underlying, public.limit_reading, public.exposure_of, public.weigh_limits, public.judge_limits,
  public.uses_reference_again, public.may_supersede, public.preview_command, public.change_limits, public.request_approval TO tidemark_app;

GRANT EXECUTE ON FUNCTION public.canonical_symbol, public.symbol_letters, public.order_chain, public.order_in, public.log_partitions, public.no_state TO tidemark_reader;
