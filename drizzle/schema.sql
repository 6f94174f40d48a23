-- The schema as it stands after all migrations, read back from a migrated database: tables with their constraints, indexes, triggers and rights, then functions.
-- To be read, not to be run. Where it differs: npx vitest run -u --project pg test/store/golden-schema.pg.test.ts

table accounts
  stream text not null
  account_id text not null
  is_sim boolean not null
  source_epoch integer not null
  read_up_to text
  audited_up_to text
  updated_at timestamp with time zone not null default now()
  constraint accounts_stream_account_id_pk PRIMARY KEY (stream, account_id)
grant insert, select, update to tidemark_app
grant select to tidemark_reader

table approvals
  approval_id uuid not null
  action json not null
  account_id text
  requested_by text not null
  reason text not null
  request_id text not null
  requested_at timestamp with time zone not null
  expires_at timestamp with time zone not null
  approved_by text
  approved_reason text
  approved_at timestamp with time zone
  constraint approvals_in_time CHECK (((num_nulls(approved_by, approved_reason, approved_at) = ANY (ARRAY[0, 3])) AND ((approved_at IS NULL) OR (approved_at < expires_at))))
  constraint approvals_pkey PRIMARY KEY (approval_id)
  constraint approvals_two_principals CHECK ((approved_by <> requested_by))
CREATE INDEX approvals_waiting ON public.approvals USING btree (expires_at) WHERE (approved_at IS NULL)
CREATE TRIGGER approvals_guard BEFORE UPDATE ON public.approvals FOR EACH ROW EXECUTE FUNCTION approvals_guard()
CREATE TRIGGER approvals_stay BEFORE DELETE OR TRUNCATE ON public.approvals FOR EACH STATEMENT EXECUTE FUNCTION refuse_loss()
grant insert, select to tidemark_app
grant select to tidemark_reader
grant update (expires_at, approved_by, approved_reason, approved_at) to tidemark_app

table audit_log
  id bigint not null generated always as identity
  at timestamp with time zone not null
  principal text not null
  action text not null
  account_id text
  command_id text
  request_id text
  reason text
  detail json
  recorded_at timestamp with time zone not null default now()
  constraint audit_log_pkey PRIMARY KEY (id)
CREATE INDEX audit_log_at ON public.audit_log USING btree (at)
CREATE TRIGGER audit_log_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.audit_log FOR EACH STATEMENT EXECUTE FUNCTION refuse_loss()
grant insert, select to tidemark_app
grant select to tidemark_reader

table cancel_alls
  cancel_all_id uuid not null
  shard integer not null
  principal text not null
  idempotency_key text not null
  key_held boolean not null default true
  request_hash text not null
  selection json not null
  reason text not null
  on_landing text not null
  orders json not null
  places json not null
  unread json not null
  declined json not null
  created_at timestamp with time zone not null
  ended_at timestamp with time zone
  constraint cancel_alls_on_landing CHECK ((on_landing = ANY (ARRAY['cancel'::text, 'leave'::text])))
  constraint cancel_alls_pkey PRIMARY KEY (cancel_all_id)
CREATE INDEX cancel_alls_in_force ON public.cancel_alls USING btree (shard, created_at) WHERE (ended_at IS NULL)
CREATE INDEX cancel_alls_key_held ON public.cancel_alls USING btree (created_at) WHERE key_held
CREATE UNIQUE INDEX cancel_alls_one_per_key ON public.cancel_alls USING btree (shard, principal, idempotency_key) WHERE key_held
CREATE TRIGGER cancel_alls_guard BEFORE UPDATE ON public.cancel_alls FOR EACH ROW EXECUTE FUNCTION cancel_alls_guard()
CREATE TRIGGER cancel_alls_stay BEFORE DELETE OR TRUNCATE ON public.cancel_alls FOR EACH STATEMENT EXECUTE FUNCTION refuse_loss()
grant insert, select to tidemark_app
grant select to tidemark_reader
grant update (key_held, ended_at) to tidemark_app

table cancel_timers
  shard integer not null
  principal text not null
  account_id text not null
  timer_id uuid not null
  fires_at timestamp with time zone not null
  ended_at timestamp with time zone
  changes integer not null default 1
  constraint cancel_timers_account CHECK ((account_id <> ''::text))
  constraint cancel_timers_pk PRIMARY KEY (shard, principal, account_id)
grant insert, select to tidemark_app
grant select to tidemark_reader
grant update (timer_id, fires_at, ended_at, changes) to tidemark_app

table credentials
  credential text not null
  generation bigint not null default 0
  sealed bytea
  claimed_by text
  claimed_until timestamp with time zone
  updated_at timestamp with time zone not null default now()
  constraint credentials_pkey PRIMARY KEY (credential)
grant insert, select, update to tidemark_app

table dead_letter_jobs
  job_id uuid not null
  action text not null
  filter json not null
  accounts text[]
  reason text not null
  asked_by text not null
  request_id text not null
  asked_at timestamp with time zone not null default now()
  ended_at timestamp with time zone
  cancelled_by text
  discarded integer not null default 0
  constraint dead_letter_jobs_action CHECK ((action = ANY (ARRAY['retry'::text, 'discard'::text])))
  constraint dead_letter_jobs_cancelled CHECK (((cancelled_by IS NULL) OR (ended_at IS NOT NULL)))
  constraint dead_letter_jobs_pkey PRIMARY KEY (job_id)
  constraint dead_letter_jobs_reason CHECK ((reason <> ''::text))
CREATE INDEX dead_letter_jobs_asked ON public.dead_letter_jobs USING btree (asked_at)
grant delete, insert, select to tidemark_app
grant select to tidemark_reader
grant update (ended_at, cancelled_by) to tidemark_app

table dead_letters
  id bigint not null generated always as identity
  lane integer not null
  batch bigint not null
  stream text not null
  account_id text
  order_id text
  reason text not null
  detail text not null
  raw text not null
  observed_at timestamp with time zone not null
  recorded_at timestamp with time zone not null default now()
  dealt_at timestamp with time zone
  constraint dead_letters_pkey PRIMARY KEY (id)
CREATE INDEX dead_letters_open ON public.dead_letters USING btree (stream, reason) WHERE (dealt_at IS NULL)
grant delete, select to tidemark_app
grant select to tidemark_reader
grant update (dealt_at) to tidemark_app

table event_floor
  one boolean not null default true
  tx_id xid8 not null
  constraint event_floor_one CHECK (one)
  constraint event_floor_pkey PRIMARY KEY (one)
grant insert, select, update to tidemark_app
grant select to tidemark_reader

table facts
  command_id uuid not null
  behind integer not null
  id bigint not null generated always as identity
  recorded_at timestamp with time zone not null default now()
  body text not null
  constraint facts_pkey PRIMARY KEY (command_id, behind, id)
CREATE TRIGGER facts_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.facts FOR EACH STATEMENT EXECUTE FUNCTION refuse_loss()
grant insert, select to tidemark_app
grant select to tidemark_reader

table halt_events
  tx_id xid8 not null default pg_current_xact_id()
  id bigint not null default nextval('event_numbers'::regclass)
  snapshot json not null
  recorded_at timestamp with time zone not null default now()
  constraint halt_events_tx_id_id_pk PRIMARY KEY (tx_id, id)
grant delete, select to tidemark_app
grant select to tidemark_reader

table halts
  halt_id text not null
  account_id text
  cause text not null
  reason text not null
  raised_by text not null
  since timestamp with time zone not null
  cleared_at timestamp with time zone
  cleared_by text
  cleared_reason text
  constraint halts_account CHECK ((account_id <> ''::text))
  constraint halts_cleared_with_a_reason CHECK (((num_nulls(cleared_at, cleared_by, cleared_reason) = ANY (ARRAY[0, 3])) AND (cleared_reason <> ''::text)))
  constraint halts_pkey PRIMARY KEY (halt_id)
CREATE UNIQUE INDEX halts_one_active ON public.halts USING btree (COALESCE(account_id, ''::text), cause) WHERE (cleared_at IS NULL)
CREATE TRIGGER halts_guard BEFORE UPDATE ON public.halts FOR EACH ROW EXECUTE FUNCTION halts_guard()
CREATE TRIGGER halts_recorded AFTER INSERT OR UPDATE ON public.halts FOR EACH ROW EXECUTE FUNCTION record_halt_event()
CREATE TRIGGER halts_stay BEFORE DELETE OR TRUNCATE ON public.halts FOR EACH STATEMENT EXECUTE FUNCTION refuse_loss()
grant insert, select to tidemark_app
grant select to tidemark_reader
grant update (cleared_at, cleared_by, cleared_reason) to tidemark_app

table journal
  seq bigint not null
  tx_id xid8 not null default pg_current_xact_id()
  command_id uuid
  at timestamp with time zone not null
  recorded_at timestamp with time zone not null default now()
  epoch bigint not null
  shard integer not null
  number integer
  version integer
  kind text not null
  from_state text
  state text
  attempt integer
  attempt_from text
  attempt_state text
  attempt_id text
  order_id text
  order_status text
  resolved_at timestamp with time zone
  principal text
  idempotency_key text
  key_held boolean
  request_kind text
  stream text
  account_id text
  symbol text
  side text
  caller_ref text
  supersedes uuid
  exposure numeric
  limits_change bigint
  token_number integer
  body text not null
  constraint journal_opening CHECK (journal_opening_allows(kind, command_id, principal, idempotency_key, key_held, request_kind, stream, account_id, symbol, side, caller_ref, supersedes, exposure, limits_change, token_number, order_id))
  constraint journal_pkey PRIMARY KEY (shard, seq)
  constraint journal_row CHECK (journal_allows(kind, number, version, from_state, state, attempt, attempt_from, attempt_state, attempt_id, order_id, resolved_at))
CREATE UNIQUE INDEX journal_attempts ON public.journal USING btree (attempt_id) WHERE (attempt_id IS NOT NULL)
CREATE INDEX journal_by_account ON public.journal USING btree (account_id, at, command_id) WHERE (kind = 'opening'::text)
CREATE INDEX journal_by_caller_ref ON public.journal USING btree (caller_ref, principal) WHERE (caller_ref IS NOT NULL)
CREATE INDEX journal_by_transaction ON public.journal USING btree (tx_id, seq)
CREATE INDEX journal_came_to_nothing ON public.journal USING btree (shard, command_id) WHERE ((resolved_at IS NOT NULL) AND ((order_id IS NULL) OR (state <> 'applied'::text)))
CREATE INDEX journal_newest ON public.journal USING btree (at, command_id) WHERE (kind = 'opening'::text)
CREATE UNIQUE INDEX journal_numbers ON public.journal USING btree (command_id, number)
CREATE INDEX journal_of_order ON public.journal USING btree (stream, order_id) WHERE ((kind = 'opening'::text) AND (order_id IS NOT NULL))
CREATE UNIQUE INDEX journal_one_per_key ON public.journal USING btree (idempotency_key, principal, (
CASE
    WHEN (NOT key_held) THEN command_id
    ELSE NULL::uuid
END)) NULLS NOT DISTINCT WHERE (kind = 'opening'::text)
CREATE INDEX journal_successors ON public.journal USING btree (supersedes) WHERE (supersedes IS NOT NULL)
CREATE TRIGGER journal_guard BEFORE UPDATE ON public.journal FOR EACH ROW EXECUTE FUNCTION journal_guard()
CREATE TRIGGER journal_stays BEFORE DELETE OR TRUNCATE ON public.journal FOR EACH STATEMENT EXECUTE FUNCTION refuse_loss()
grant insert, select to tidemark_app
grant select to tidemark_reader
grant update (key_held) to tidemark_app

table lane_batches
  lane integer not null
  batch bigint not null
  constraint lane_batches_lane_batch_pk PRIMARY KEY (lane, batch)
grant select to tidemark_app
grant select to tidemark_reader

table lanes
  lane integer not null
  holder text
  epoch bigint not null
  renewed_at timestamp with time zone not null
  generation integer not null default 1
  held_since timestamp with time zone not null default now()
  drained boolean not null default false
  address text
  weight double precision not null default 0
  version text
  draining boolean not null default false
  trouble text
  unhealthy boolean not null default false
  report jsonb not null default '{}'::jsonb
  unpublished_after bigint
  constraint lanes_pkey PRIMARY KEY (lane)
grant insert, select, update to tidemark_app
grant select to tidemark_reader

table limits
  limits_id bigint not null generated always as identity
  principal text
  account_id text
  bounds jsonb not null
  changed_by text not null
  reason text not null
  changed_at timestamp with time zone not null
  change bigint not null generated always as identity
  constraint limits_bounds CHECK (((jsonb_typeof(bounds) = 'object'::text) AND (bounds <> '{}'::jsonb)))
  constraint limits_pkey PRIMARY KEY (limits_id)
  constraint limits_scope CHECK (((principal <> ''::text) AND (account_id <> ''::text)))
CREATE UNIQUE INDEX limits_change ON public.limits USING btree (change)
CREATE UNIQUE INDEX limits_one_per_scope ON public.limits USING btree (COALESCE(principal, ''::text), COALESCE(account_id, ''::text))
grant delete, insert, select, update to tidemark_app
grant select to tidemark_reader

table moved_states
  from_seq bigint not null
  lane integer not null
  seq bigint not null
  moved_by xid8 not null default pg_current_xact_id()
  moved_at timestamp with time zone not null default now()
  constraint moved_states_from_seq_lane_pk PRIMARY KEY (from_seq, lane)
grant select to tidemark_reader

table open_commands
  account_id text not null
  command_id uuid not null
  shard integer not null
  standing text not null
  constraint open_commands_pkey PRIMARY KEY (account_id, command_id)
  constraint open_commands_standing CHECK ((standing = ANY (ARRAY['open'::text, 'doubtful'::text, 'resolved'::text])))
grant delete, insert, select to tidemark_app
grant select to tidemark_reader
grant update (standing) to tidemark_app

table order_bindings
  stream text not null
  order_id text not null
  attempt_id text not null
  command_id uuid not null
  matches boolean not null
  bound_at timestamp with time zone not null default now()
  constraint order_bindings_stream_order_id_attempt_id_pk PRIMARY KEY (stream, order_id, attempt_id)
CREATE INDEX order_bindings_by_command ON public.order_bindings USING btree (command_id)
CREATE TRIGGER order_bindings_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.order_bindings FOR EACH STATEMENT EXECUTE FUNCTION refuse_loss()
grant select to tidemark_app
grant select to tidemark_reader

table order_updates range (seq)
  seq bigint not null default nextval('order_updates_seq'::regclass)
  lane integer not null
  batch bigint not null
  stream text not null
  order_id text not null
  account_id text not null
  revision bigint not null
  payload text not null
  recorded_at timestamp with time zone not null default now()
  before_seq bigint
  before_lane integer
  constraint order_updates_lane_seq_pk PRIMARY KEY (lane, seq)
grant select to tidemark_app
grant select to tidemark_reader

table orders with (fillfactor=80)
  stream text not null
  order_id text not null
  lane integer not null
  account_id text not null
  symbol text not null
  status text not null
  is_open boolean not null generated always as ((status <> ALL (ARRAY['filled'::text, 'replaced'::text, 'canceled'::text, 'expired'::text, 'rejected'::text]))) stored
  revision bigint not null
  reduced_from bigint not null default 0
  source_version bigint
  state json
  join_state json not null
  updated_at timestamp with time zone not null default now()
  closed_changed_at timestamp with time zone generated always as (
CASE
    WHEN (status = ANY (ARRAY['filled'::text, 'replaced'::text, 'canceled'::text, 'expired'::text, 'rejected'::text])) THEN updated_at
    ELSE NULL::timestamp with time zone
END) stored
  seq bigint
  before_seq bigint
  before_lane integer
  constraint orders_has_state CHECK (((state IS NOT NULL) OR (seq IS NOT NULL)))
  constraint orders_stream_order_id_pk PRIMARY KEY (stream, order_id)
CREATE INDEX orders_by_account ON public.orders USING btree (account_id, stream, is_open, order_id)
CREATE INDEX orders_closed ON public.orders USING btree (account_id, stream, closed_changed_at, order_id) WHERE (closed_changed_at IS NOT NULL)
grant select to tidemark_app
grant select to tidemark_reader

table principal_tokens
  principal text not null
  number integer not null
  token_sha256 bytea not null
  scopes text[] not null
  accounts text[]
  created_at timestamp with time zone not null default now()
  expires_at timestamp with time zone
  constraint principal_tokens_number CHECK ((number > 0))
  constraint principal_tokens_principal_number_pk PRIMARY KEY (principal, number)
  constraint principal_tokens_sha256 CHECK ((octet_length(token_sha256) = 32))
CREATE UNIQUE INDEX principal_tokens_hash ON public.principal_tokens USING btree (token_sha256)
CREATE TRIGGER principal_tokens_guard BEFORE INSERT OR UPDATE ON public.principal_tokens FOR EACH ROW EXECUTE FUNCTION principal_tokens_guard()
CREATE TRIGGER principal_tokens_stay BEFORE DELETE OR TRUNCATE ON public.principal_tokens FOR EACH STATEMENT EXECUTE FUNCTION refuse_loss()
grant select to tidemark_app
grant select (principal, number, scopes, accounts, created_at, expires_at) to tidemark_reader

table published_topics
  kind text not null
  name text not null
  ends bigint[] not null
  lost text
  constraint published_topics_pkey PRIMARY KEY (kind)
grant insert, select, update to tidemark_app
grant select to tidemark_reader

table relay_positions
  lane integer not null
  cursor text not null
  seq bigint not null
  saved_at timestamp with time zone not null default now()
  constraint relay_positions_lane_cursor_pk PRIMARY KEY (lane, cursor)
grant insert, select, update to tidemark_app
grant select to tidemark_reader

table repair_requests
  id bigint not null generated always as identity
  kind text not null
  stream text not null
  account_id text
  dead_letter_id bigint
  job_id uuid
  since timestamp with time zone
  asked_by text
  reason text
  requested_at timestamp with time zone not null default now()
  answered_at timestamp with time zone
  result text
  detail text
  constraint repair_requests_account CHECK (((account_id IS NOT NULL) OR (job_id IS NOT NULL)))
  constraint repair_requests_answer CHECK (((num_nulls(answered_at, result) = ANY (ARRAY[0, 2])) AND (result = ANY (ARRAY['done'::text, 'failed'::text, 'withdrawn'::text]))))
  constraint repair_requests_job_id_fkey FOREIGN KEY (job_id) REFERENCES dead_letter_jobs(job_id) ON DELETE CASCADE
  constraint repair_requests_kind CHECK ((((kind = ANY (ARRAY['read'::text, 'backfill'::text])) AND (dead_letter_id IS NULL) AND (job_id IS NULL)) OR ((kind = 'retry'::text) AND (dead_letter_id IS NOT NULL))))
  constraint repair_requests_pkey PRIMARY KEY (id)
  constraint repair_requests_since CHECK (((since IS NULL) OR (kind = 'backfill'::text)))
CREATE INDEX repair_requests_by_job ON public.repair_requests USING btree (job_id, result) WHERE (job_id IS NOT NULL)
CREATE INDEX repair_requests_by_row ON public.repair_requests USING btree (dead_letter_id) WHERE (dead_letter_id IS NOT NULL)
CREATE INDEX repair_requests_open ON public.repair_requests USING btree (id) WHERE (answered_at IS NULL)
grant delete, select to tidemark_app
grant select to tidemark_reader
grant insert (kind, stream, account_id, dead_letter_id, job_id, since, asked_by, reason, answered_at, result, detail) to tidemark_app
grant update (answered_at, result, detail) to tidemark_app

table result_positions
  shard integer not null
  seq bigint not null
  epoch bigint not null
  constraint result_positions_pkey PRIMARY KEY (shard)
grant insert, select, update to tidemark_app
grant select to tidemark_reader

table shards
  shard integer not null
  lane integer
  epoch bigint not null default 0
  pinned boolean not null default false
  since timestamp with time zone not null default now()
  constraint shards_pkey PRIMARY KEY (shard)
grant select to tidemark_app
grant select to tidemark_reader
grant update (lane, epoch, pinned, since) to tidemark_app

CREATE OR REPLACE FUNCTION public.add_audit_lines(p json)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.add_facts(p_command_id uuid, p_facts text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
BEGIN
  INSERT INTO public.facts (command_id, behind, body)
  SELECT p_command_id, j.number, p_facts FROM public.journal j WHERE j.command_id = p_command_id ORDER BY j.number DESC LIMIT 1;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'there is no command %', p_command_id USING ERRCODE = 'TM012';
  END IF;
END
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.after_restore(p_lane integer, p_least integer, p_halt_id text, p_by text, OUT generation integer, OUT attempts integer)
 RETURNS record
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  SELECT * FROM public.begin_generation(p_lane, p_least, p_halt_id, 'operator',
    'the database was restored: commands made since the copy are not in the journal', p_by)
$function$

CREATE OR REPLACE FUNCTION public.append_journal(p_alone boolean, p_rows json, p_more json[], p_lines json[], OUT place integer, OUT said text, OUT order_status text, OUT more json)
 RETURNS SETOF record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
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
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.apply_batch(p_lane integer, p_epoch bigint, p_number bigint, h_stream text[], h_order_id text[], h_account_id text[], h_symbol text[], h_status text[], h_revision bigint[], h_reduced_from bigint[], h_source_version bigint[], h_state json[], h_join_state json[], h_update bigint[], u_stream text[], u_order_id text[], u_account_id text[], u_revision bigint[], u_before bigint[], u_payload text[], q_stream text[], q_account_id text[], q_order_id text[], q_reason text[], q_detail text[], q_raw text[], q_observed_ms bigint[])
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
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
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.apply_batch_with_bindings(p_lane integer, p_epoch bigint, p_number bigint, h_stream text[], h_order_id text[], h_account_id text[], h_symbol text[], h_status text[], h_revision bigint[], h_reduced_from bigint[], h_source_version bigint[], h_state json[], h_join_state json[], h_update bigint[], u_stream text[], u_order_id text[], u_account_id text[], u_revision bigint[], u_before bigint[], u_payload text[], q_stream text[], q_account_id text[], q_order_id text[], q_reason text[], q_detail text[], q_raw text[], q_observed_ms bigint[], b_stream text[], b_order_id text[], b_attempt_id text[], b_command_id text[], b_matches bigint[])
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.approvals_guard()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$

CREATE OR REPLACE FUNCTION public.begin_generation(p_lane integer, p_least integer, p_halt_id text, p_cause text, p_reason text, p_by text, OUT generation integer, OUT attempts integer)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$

CREATE OR REPLACE FUNCTION public.bindings_of(p_attempt_ids text[], OUT attempt_id text, OUT command_id uuid, OUT caller_ref text, OUT stream text, OUT account_id text, OUT side text)
 RETURNS SETOF record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
BEGIN
  RETURN QUERY SELECT a.attempt_id, o.command_id, o.caller_ref, o.stream, o.account_id, o.side
  FROM unnest(p_attempt_ids) AS k(id) JOIN public.journal a ON a.attempt_id = k.id JOIN public.journal o ON o.command_id = a.command_id AND o.number = 1
  WHERE o.request_kind <> 'cancel';
END
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.cancel_all_holds_key(c cancel_alls, p_at timestamp with time zone)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
BEGIN
  RETURN c.created_at > p_at - interval '7 days' OR c.ended_at IS NULL OR EXISTS (
    SELECT FROM public.open_commands w JOIN public.journal m ON m.command_id = w.command_id AND m.number = 1
    WHERE w.standing <> 'resolved' AND m.principal = c.principal AND starts_with(m.idempotency_key, 'cancel-all:' || c.cancel_all_id || ':'));
END
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.cancel_all_json(c cancel_alls)
 RETURNS json
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
BEGIN
  RETURN json_build_object('cancelAllId', c.cancel_all_id, 'principal', c.principal, 'idempotencyKey', c.idempotency_key, 'requestHash', c.request_hash,
    'selection', c.selection, 'reason', c.reason, 'onLanding', c.on_landing, 'orders', c.orders, 'places', c.places, 'unread', c.unread,
    'declined', c.declined, 'atMs', public.time_to_ms(c.created_at));
END
$function$
grant execute to tidemark_app, tidemark_reader

CREATE OR REPLACE FUNCTION public.cancel_alls_guard()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$

CREATE OR REPLACE FUNCTION public.canonical_symbol(p_symbol text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(upper(translate(btrim(p_symbol), 'i'::text, 'I'::text)), '^(?:O:)?([A-Z0-9.]{1,6}) *([0-9]{6}[CP][0-9]{8})$'::text, '\1\2'::text)
grant execute to tidemark_app, tidemark_reader

CREATE OR REPLACE FUNCTION public.change_limits(p json)
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.clear_halts(p_shard integer, p_epoch bigint, p_account_id text, p_by text, p_reason text, p_at_ms double precision, p_of_some boolean)
 RETURNS json
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.close_sending()
 RETURNS void
 LANGUAGE sql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  SELECT pg_advisory_xact_lock(hashtext('tidemark sending'), 0)
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.command_json(p_command_id uuid, p_number integer DEFAULT NULL::integer)
 RETURNS json
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$
grant execute to tidemark_app, tidemark_reader

CREATE OR REPLACE FUNCTION public.drop_log_partition(p_retention interval)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET lock_timeout TO '250ms'
AS $function$
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
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.end_cancel_all(p_shard integer, p_epoch bigint, p_cancel_all_id uuid, p_at_ms double precision)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
BEGIN
  IF NOT public.hold_command_fence(p_shard, p_epoch) THEN
    RETURN false;
  END IF;
  UPDATE public.cancel_alls SET ended_at = public.ms_to_time(p_at_ms) WHERE cancel_all_id = p_cancel_all_id AND ended_at IS NULL;
  RETURN true;
END
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.end_cancel_timer(p_shard integer, p_epoch bigint, p_timer_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
BEGIN
  IF NOT public.hold_command_fence(p_shard, p_epoch) THEN
    RETURN false;
  END IF;
  UPDATE public.cancel_timers SET ended_at = clock_timestamp() WHERE shard = p_shard AND timer_id = p_timer_id AND ended_at IS NULL;
  RETURN true;
END
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.end_token_again(p_principal text, p_number integer, p_ends_ms double precision)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
BEGIN
  -- The row first: `sending` is never held while a row is waited for.
  PERFORM FROM public.principal_tokens WHERE principal = p_principal AND number = p_number FOR UPDATE;
  PERFORM public.close_sending();
  UPDATE public.principal_tokens SET expires_at = public.ms_to_time(p_ends_ms)
  WHERE principal = p_principal AND number = p_number AND (expires_at IS NULL OR expires_at > public.ms_to_time(p_ends_ms));
END
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.ensure_log_partitions(p_rows bigint, p_ahead integer DEFAULT 2)
 RETURNS text[]
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.enter_lane(p_lane integer, p_epoch bigint, p_number bigint)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
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
$function$

CREATE OR REPLACE FUNCTION public.exposure_of(p_account text, p_symbol text, OUT amount numeric, OUT unvalued text)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.halt_doubtful(p_account_ids text[], p_most json, p_at_ms double precision)
 RETURNS json[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
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
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.halt_json(h halts)
 RETURNS json
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
BEGIN
  RETURN json_strip_nulls(json_build_object(
    'haltId', h.halt_id, 'accountId', h.account_id, 'cause', h.cause, 'reason', h.reason, 'by', h.raised_by, 'sinceMs', public.time_to_ms(h.since),
    'clearedAtMs', public.time_to_ms(h.cleared_at), 'clearedBy', h.cleared_by, 'clearedReason', h.cleared_reason));
END
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.halts_guard()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
BEGIN
  IF OLD.cleared_at IS NOT NULL OR (OLD.halt_id, OLD.account_id, OLD.cause, OLD.reason, OLD.raised_by, OLD.since) IS DISTINCT FROM
     (NEW.halt_id, NEW.account_id, NEW.cause, NEW.reason, NEW.raised_by, NEW.since) THEN
    RAISE EXCEPTION 'halt % is cleared once, and never changed otherwise', OLD.halt_id USING ERRCODE = 'TM010';
  END IF;
  RETURN NEW;
END
$function$

CREATE OR REPLACE FUNCTION public.heads_of(p_keys text[], OUT key text, OUT revision bigint, OUT source_version bigint, OUT kept_state text, OUT payload text, OUT join_state text)
 RETURNS SETOF record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
BEGIN
  -- Keys are <stream>:<orderId>.
  RETURN QUERY SELECT k.key, o.revision, o.source_version, o.kept_state::text, o.payload, o.join_state::text
  FROM unnest(p_keys) AS k(key)
  JOIN public.current_orders o ON o.stream = split_part(k.key, ':', 1) AND o.order_id = substr(k.key, strpos(k.key, ':') + 1);
END
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.highest_number(p_shard integer)
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
BEGIN
  RETURN greatest((SELECT j.seq FROM public.journal j WHERE j.shard = p_shard ORDER BY j.seq DESC LIMIT 1),
    (SELECT p.seq FROM public.result_positions p WHERE p.shard = p_shard), (SELECT last_value >> 40 << 40 FROM public.event_numbers), 0);
END
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.hold_command_fence(p_shard integer, p_epoch bigint)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(hashtext('tidemark fence'), p_shard);
  -- A statement of its own: its snapshot is younger than the lock.
  PERFORM FROM public.shards s WHERE s.shard = p_shard AND s.epoch = p_epoch;
  RETURN FOUND;
END
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.is_superseded(p_command_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
BEGIN
  RETURN EXISTS (SELECT FROM public.commands WHERE supersedes = p_command_id AND state NOT IN ('not_sent', 'refused'));
END
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.journal_allows(p_kind text, p_number integer, p_version integer, p_from text, p_state text, p_attempt integer, p_attempt_from text, p_attempt_state text, p_attempt_id text, p_order_id text, p_resolved_at timestamp with time zone)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.journal_guard()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
BEGIN
  IF OLD.key_held AND NOT NEW.key_held AND (SELECT resolved_at FROM public.journal WHERE command_id = OLD.command_id ORDER BY number DESC LIMIT 1) IS NOT NULL THEN
    OLD.key_held := false;
    IF OLD IS NOT DISTINCT FROM NEW THEN
      RETURN NEW;
    END IF;
  END IF;
  RAISE EXCEPTION 'a row of the journal never changes, but that the key of a final command is given up once' USING ERRCODE = 'TM010';
END
$function$

CREATE OR REPLACE FUNCTION public.journal_opening_allows(p_kind text, p_command_id uuid, p_principal text, p_key text, p_key_held boolean, p_request_kind text, p_stream text, p_account_id text, p_symbol text, p_side text, p_caller_ref text, p_supersedes uuid, p_exposure numeric, p_limits_change bigint, p_token_number integer, p_order_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
BEGIN
  IF p_kind <> 'opening' THEN
    RETURN (p_command_id IS NULL) = (p_kind = 'void') AND num_nonnulls(p_principal, p_key, p_key_held, p_request_kind, p_stream, p_account_id, p_symbol, p_side, p_caller_ref,
      p_supersedes, p_exposure, p_limits_change, p_token_number) = 0;
  END IF;
  RETURN num_nulls(p_command_id, p_principal, p_key, p_key_held, p_request_kind, p_stream, p_account_id, p_limits_change) = 0 AND p_stream = ANY (public.streams())
    AND CASE p_request_kind WHEN 'place' THEN num_nulls(p_symbol, p_side) = 0 WHEN 'replace' THEN p_order_id IS NOT NULL
      WHEN 'cancel' THEN p_order_id IS NOT NULL AND p_supersedes IS NULL ELSE false END;
END
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.judge_limits(p json)
 RETURNS json
 LANGUAGE sql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  SELECT (w::jsonb - 'broken')::json FROM public.weigh_limits(p, false) AS w LIMIT 1
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.lacks_acts(p_acts json)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.lacks_commits(p_seen json)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  SELECT EXISTS (
    SELECT FROM json_to_recordset(p_seen) AS s(lane integer, generation integer, epoch bigint, batch bigint, acts json)
    LEFT JOIN public.lanes l USING (lane)
    CROSS JOIN LATERAL (SELECT coalesce(l.generation, (SELECT max(generation) FROM public.lanes), 1) AS generation) AS now
    WHERE s.generation > now.generation OR s.generation = now.generation AND (
      coalesce(l.epoch, 0) < s.epoch OR coalesce(public.lane_batch(s.lane), 0) < s.batch OR public.lacks_acts(s.acts)))
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.lane_batch(p_lane integer)
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
BEGIN
  RETURN coalesce((SELECT b.batch FROM public.lane_batches b WHERE b.lane = p_lane ORDER BY b.batch DESC LIMIT 1), 0);
END
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.lane_to_move(p_name text, p_from_seq bigint, p_after integer, OUT lane integer, OUT moved bigint)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
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
$function$

CREATE OR REPLACE FUNCTION public.limit_reading(p_limit text, p_bound text, p_broken boolean, p_value text, p_why text DEFAULT NULL::text, p_needs_quote boolean DEFAULT NULL::boolean)
 RETURNS json
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
BEGIN
  RETURN json_strip_nulls(json_build_object('limit', p_limit, 'bound', p_bound, 'broken', p_broken, 'value', p_value, 'why', p_why, 'needsQuote', p_needs_quote));
END
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.log_holders(p_partition text)
 RETURNS text[]
 LANGUAGE sql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  SELECT coalesce(array_agg(DISTINCT l.virtualtransaction), '{}') FROM pg_locks l
  WHERE l.relation IN ('public.order_updates'::regclass, to_regclass(format('public.%I', p_partition))) AND l.granted AND l.pid IS DISTINCT FROM pg_backend_pid()
    AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
$function$

CREATE OR REPLACE FUNCTION public.log_kept_by(p_retention interval)
 RETURNS text[]
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  SELECT coalesce((SELECT public.older_log_snapshots(p.from_seq) FROM public.passed_log_partition(p_retention) p), '{}')
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.log_partitions()
 RETURNS TABLE(name text, from_seq bigint, until_seq bigint)
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  SELECT c.relname::text,
    substring(pg_get_expr(c.relpartbound, c.oid) FROM 'FROM \(''?(\d+)')::bigint,
    substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''?(\d+)')::bigint
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = 'public.order_updates'::regclass
  ORDER BY 2
$function$
grant execute to tidemark_app, tidemark_reader

CREATE OR REPLACE FUNCTION public.may_supersede(p json)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
BEGIN
  RETURN EXISTS (SELECT FROM public.commands c WHERE c.command_id = (p ->> 'supersedes')::uuid
    AND c.kind = p -> 'request' ->> 'kind' AND c.account_id = p -> 'request' ->> 'accountId'
    AND (c.state = 'unknown' AND c.presumed_absent OR c.state = 'conflict' AND c.kind = 'replace'
      AND c.created_at <= public.ms_to_time((p ->> 'atMs')::double precision) - interval '10 minutes')
    AND NOT (c.kind = 'place' AND public.is_superseded(c.command_id)));
END
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.move_order_states(p_retention interval, p_rows integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET lock_timeout TO '250ms'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
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
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.ms_to_time(p_ms double precision)
 RETURNS timestamp with time zone
 LANGUAGE sql
 IMMUTABLE
AS $function$ SELECT to_timestamp(p_ms / 1000) $function$
grant execute to tidemark_app, tidemark_reader

CREATE OR REPLACE FUNCTION public.no_state(p_stream text, p_order_id text)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
BEGIN
  IF EXISTS (SELECT FROM pg_inherits i WHERE i.inhparent = 'public.order_updates'::regclass AND pg_table_is_visible(i.inhrelid) IS NULL) THEN
    RAISE EXCEPTION 'the state of %:% has moved since this snapshot was taken', p_stream, p_order_id
      USING ERRCODE = '40001', HINT = 'Begin the transaction again.';
  END IF;
  RETURN NULL;
END
$function$
grant execute to tidemark_app, tidemark_reader

CREATE OR REPLACE FUNCTION public.notice_loss(p_lane integer, p_seen json, p_halt_id text, p_by text, p_epoch bigint)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.older_log_snapshots(p_from_seq bigint)
 RETURNS text[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$

CREATE OR REPLACE FUNCTION public.open_cancel_all(p_shard integer, p_epoch bigint, p json)
 RETURNS json
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.opening_objection(p json)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.order_chain(p_stream text, p_order_id text, p_above bigint)
 RETURNS TABLE(lane integer, seq bigint, revision bigint, before_seq bigint)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
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
$function$
grant execute to tidemark_app, tidemark_reader

CREATE OR REPLACE FUNCTION public.order_in(p_payload text)
 RETURNS json
 LANGUAGE plpgsql
 IMMUTABLE STRICT
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
DECLARE
  v json;
BEGIN
  v := p_payload::json -> 'order';
  RETURN CASE json_typeof(v) WHEN 'object' THEN v END;
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
  RETURN NULL;
END
$function$
grant execute to tidemark_app, tidemark_reader

CREATE OR REPLACE FUNCTION public.order_status_of(p_command_id uuid, p_kind text, p_stream text, p_order_id text, p_account_id text, p_incarnation text)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
BEGIN
  -- Of the command's own order: the platform may have given the id again since. The order itself is read only where that is so.
  RETURN (SELECT o.status FROM public.orders o WHERE o.stream = p_stream AND o.order_id = p_order_id AND o.account_id = p_account_id
    AND CASE WHEN p_kind <> 'place' THEN o.join_state ->> 'incarnation' IS NOT DISTINCT FROM p_incarnation
      WHEN o.join_state ->> 'incarnation' IS NULL THEN true
      ELSE (SELECT v.state ->> 'commandId' = p_command_id::text FROM public.current_orders v WHERE v.stream = p_stream AND v.order_id = p_order_id) END);
END
$function$
grant execute to tidemark_app, tidemark_reader

CREATE OR REPLACE FUNCTION public.passed_log_partition(p_retention interval)
 RETURNS TABLE(name text, from_seq bigint)
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET lock_timeout TO '250ms'
AS $function$
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
$function$

CREATE OR REPLACE FUNCTION public.preview_command(p json)
 RETURNS json
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
BEGIN
  -- The server itself refuses a write from here on, to the end of the transaction.
  PERFORM set_config('transaction_read_only', 'on', true);
  RETURN json_build_object('callerRefReused', public.uses_reference_again(p),
    'notSuperseded', p ->> 'supersedes' IS NOT NULL AND NOT public.may_supersede(p),
    'limits', (SELECT coalesce(json_agg(w), '[]') FROM public.weigh_limits(p, true) AS w));
END
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.principal_tokens_guard()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$

CREATE OR REPLACE FUNCTION public.raise_halt(p_halt_id text, p_account_id text, p_cause text, p_reason text, p_by text, p_since_ms double precision)
 RETURNS halts
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.record_halt_event()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
BEGIN
  INSERT INTO public.halt_events (snapshot) VALUES (public.halt_json(NEW));
  RETURN NULL;
END
$function$

CREATE OR REPLACE FUNCTION public.refuse_loss()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
BEGIN
  RAISE EXCEPTION '% of % is not allowed: it only grows', TG_OP, TG_TABLE_NAME USING ERRCODE = 'TM010';
END
$function$

CREATE OR REPLACE FUNCTION public.request_approval(p json, p_most integer)
 RETURNS SETOF approvals
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.same_underlying(p_stream text, p_symbol text, p_underlying text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN ((underlying_symbol(p_symbol) = p_underlying) OR ((p_stream <> 'prediction'::text) AND (symbol_letters(underlying_symbol(p_symbol)) = symbol_letters(p_underlying))))
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.sending_objection(p_principal text, p_account_id text, p_token_number integer, p_limits_change bigint)
 RETURNS json
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.set_cancel_timers(p_shard integer, p_epoch bigint, p json)
 RETURNS json
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.streams()
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN ARRAY['account'::text, 'prediction'::text, 'alpaca'::text, 'alpaca_paper'::text]
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.symbol_letters(p_symbol text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN COALESCE(NULLIF(translate(canonical_symbol(p_symbol), ' !"#$%&''()*+,-./:;<=>?@[\]^_`{|}~'::text, ''::text), ''::text), canonical_symbol(p_symbol))
grant execute to tidemark_app, tidemark_reader

CREATE OR REPLACE FUNCTION public.take_over_commands(p_shard integer, p_epoch bigint)
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.time_to_ms(p_at timestamp with time zone)
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$ SELECT round(extract(epoch FROM p_at) * 1000)::bigint $function$
grant execute to tidemark_app, tidemark_reader

CREATE OR REPLACE FUNCTION public.try_sending()
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
BEGIN
  RETURN pg_try_advisory_xact_lock_shared(hashtext('tidemark sending'), 0);
END
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.underlying_symbol(p_symbol text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(upper(translate(btrim(p_symbol), 'i'::text, 'I'::text)), '^(?:O:)?([A-Z0-9.]{1,6}) *[0-9]{6}[CP][0-9]{8}$'::text, '\1'::text)
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.unpublished_lanes(p_lanes integer[])
 RETURNS SETOF integer
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
BEGIN
  RETURN QUERY SELECT l.lane FROM unnest(p_lanes) AS l(lane)
  CROSS JOIN LATERAL (
    SELECT min(coalesce(r.seq, 0)) AS seq FROM (VALUES ('log'), ('state')) AS c(cursor)
    LEFT JOIN public.relay_positions r ON r.lane = l.lane AND r.cursor = c.cursor) AS passed
  CROSS JOIN LATERAL (SELECT FROM public.order_updates u WHERE u.lane = l.lane AND u.seq > passed.seq ORDER BY u.seq LIMIT 1) AS above;
END
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.uses_reference_again(p json)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
BEGIN
  RETURN (p ->> 'callerRefOnce')::boolean IS TRUE
    AND EXISTS (SELECT FROM public.journal WHERE caller_ref = p ->> 'callerRef' AND principal = p ->> 'principal');
END
$function$
grant execute to tidemark_app

CREATE OR REPLACE FUNCTION public.weigh_limits(p json, p_all boolean)
 RETURNS SETOF json
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$
grant execute to tidemark_app
