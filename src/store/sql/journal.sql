-- ----- Commands -----

-- What is asked for comes first and never changes; a step changes only what stands behind it, so the log of a step has little more than those few bytes
-- (docs/decisions/069-a-step-stays-in-its-page.md). A step stays in its page as long as no column of an index changes, also not one of a predicate.
CREATE TABLE public.commands (
  command_id uuid PRIMARY KEY,
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

-- One command for each key that is held, and any number of those that gave it up: one index for both, and for the search by key.
CREATE UNIQUE INDEX commands_one_per_key ON public.commands (idempotency_key, principal, (case when not key_held then command_id end)) NULLS NOT DISTINCT;
CREATE INDEX commands_successors ON public.commands (supersedes) WHERE supersedes is not null;
CREATE INDEX commands_newest ON public.commands (created_at, command_id);
CREATE INDEX commands_by_account ON public.commands (account_id, created_at, command_id);
CREATE INDEX commands_by_caller_ref ON public.commands (caller_ref, principal) WHERE caller_ref IS NOT NULL;
CREATE INDEX commands_not_final ON public.commands (account_id, created_at) WHERE settled_at is null;
CREATE INDEX commands_key_held ON public.commands (created_at) WHERE key_held;
CREATE INDEX commands_settled ON public.commands (settled_at) WHERE settled_at is not null;
CREATE INDEX commands_of_order ON public.commands (stream, order_id) WHERE kind <> 'place';
CREATE INDEX commands_came_to_nothing ON public.commands (shard, command_id) WHERE came_to_nothing;

CREATE TABLE public.attempts (
  attempt_id text PRIMARY KEY,
  command_id uuid NOT NULL CONSTRAINT attempts_command_id_commands_command_id_fk REFERENCES public.commands (command_id),
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

CREATE UNIQUE INDEX attempts_numbered ON public.attempts (command_id, number);
CREATE UNIQUE INDEX attempts_one_in_doubt ON public.attempts (command_id) WHERE in_doubt;
CREATE INDEX attempts_in_flight ON public.attempts (epoch) WHERE in_flight;

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

-- One row for each step of a command, written once: what the step may change. What never changes is read from the command and its attempts (`event_json`).
CREATE TABLE public.command_events (
  tx_id xid8 DEFAULT pg_current_xact_id() NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY,
  command_id uuid NOT NULL CONSTRAINT command_events_command_id_commands_command_id_fk REFERENCES public.commands (command_id),
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
  attempts json NOT NULL,
  CONSTRAINT command_events_tx_id_id_pk PRIMARY KEY (tx_id, id)
);

CREATE UNIQUE INDEX command_events_versions ON public.command_events (command_id, version);

-- The events that Kafka has not acknowledged yet: a row comes with its event, and goes once it was published.
CREATE TABLE public.command_outbox (
  id bigint PRIMARY KEY,
  shard integer NOT NULL,
  version integer NOT NULL,
  command_id uuid NOT NULL
);

-- Events up to this transaction were deleted: a reader of the stream that stands there cannot go on. At most one row.
CREATE TABLE public.event_floor (
  one boolean PRIMARY KEY DEFAULT true NOT NULL,
  tx_id xid8 NOT NULL,
  CONSTRAINT event_floor_one CHECK (one)
);

-- ----- The journal of commands -----
-- These functions run as their caller, who may write the tables. Triggers and constraints refuse all that no caller may do, so they refuse it to the owner and to people
-- as well.
--
-- The order of locks. Each write takes them so, and has them to the end of its transaction:
--   1. the fence of its shard, shared; a takeover has it alone. The shard's row is only read
--   2. the row of the command that it supersedes, and a reference that may be used once
--   3. its account, where a limit counts what is at work
--   4. its key, and the row of its command
--   5. `doubtful`: by a step or a takeover that may raise a halt (`halt_doubtful`)
--   6. `sending`: shared by what is sent, alone by what forbids to send (`close_sending`: a halt, new limits, the end of a token)
-- What forbids takes `sending` last as well, behind a fence, the row of its limits or of its token, so that a row which is held for long holds up no halt.
-- A group (`write_group`) has locks of its earlier writes where a later one begins. So nothing waits for `sending` while others may wait for it: those who have `sending`
-- may want its account, and a halt between the two would close a circle. An opening tries it (`try_sending`), and so does a group before a mark. Only a mark that is
-- alone in its transaction waits, with its fence and its row. A step that raises a halt waits for it also in a group, which may have it shared: it has `doubtful` alone,
-- and a group tries that as well, so no two of them wait for each other.
-- Two groups of one process lock no account, command or attempt both (store/commands/group-commit.ts). What else may meet (two processes at one key; a takeover, or a step of
-- the same command, beside a mark that waits for a halt) is ended by a group's lock timeout of 100 ms, and the write asked for again alone.

-- These two are of a volatility that lets the planner put their text in their place. Everything longer is plpgsql, which keeps its plans: a function in SQL is
-- planned again by each statement that calls it.
CREATE FUNCTION public.ms_to_time(p_ms double precision) RETURNS timestamptz
LANGUAGE sql IMMUTABLE AS $$ SELECT to_timestamp(p_ms / 1000) $$;

CREATE FUNCTION public.time_to_ms(p_at timestamptz) RETURNS bigint
LANGUAGE sql STABLE AS $$ SELECT round(extract(epoch FROM p_at) * 1000)::bigint $$;

-- A command in the names of domain/command.ts. 64-bit numbers are text, absent values are null at the top level of each object.
CREATE FUNCTION public.command_at(c public.commands, p_order_status text, p_attempts json) RETURNS json
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

-- The status of a command's order. Only of an order of the same account: a cancel may name any order, and its answer must not show those of others.
CREATE FUNCTION public.order_status_of(c public.commands) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  -- Of the command's own order: the platform may have given the id again since. The order itself is read only where that is so.
  RETURN (SELECT o.status FROM public.orders o WHERE o.stream = c.stream AND o.order_id = c.order_id AND o.account_id = c.account_id
    AND CASE WHEN c.kind <> 'place' THEN o.join_state ->> 'incarnation' IS NOT DISTINCT FROM c.baseline ->> 'incarnation'
      WHEN o.join_state ->> 'incarnation' IS NULL THEN true
      ELSE (SELECT v.state ->> 'commandId' = c.command_id::text FROM public.current_orders v WHERE v.stream = c.stream AND v.order_id = c.order_id) END);
END
$$;

-- The planner puts its text in its place, as that of `ms_to_time`.
CREATE FUNCTION public.attempt_json(a public.attempts) RETURNS json
LANGUAGE sql STABLE AS $$
  SELECT json_build_object('attemptId', a.attempt_id, 'number', a.number, 'state', a.state, 'epoch', a.epoch::text, 'preparedAtMs', public.time_to_ms(a.prepared_at),
    'sendingAtMs', public.time_to_ms(a.sending_at), 'answeredAtMs', public.time_to_ms(a.answered_at), 'reason', a.reason)
$$;

-- A command with its attempts, as it is now.
CREATE FUNCTION public.command_json(c public.commands) RETURNS json
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN public.command_at(c, public.order_status_of(c), (
    SELECT json_agg(public.attempt_json(a) ORDER BY a.number) FROM public.attempts a WHERE a.command_id = c.command_id));
END
$$;

-- A command with its attempts, as it was after this step: `command_json` of that moment.
CREATE FUNCTION public.event_json(e public.command_events) RETURNS json
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

-- Places only: no other kind of command has its reference on an order. Planned as `heads_of`.
CREATE FUNCTION public.bindings_of(p_attempt_ids text[], OUT attempt_id text, OUT command_id uuid, OUT caller_ref text, OUT stream text, OUT account_id text, OUT side text)
RETURNS SETOF record
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET plan_cache_mode = 'force_generic_plan'
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  RETURN QUERY SELECT a.attempt_id, c.command_id, c.caller_ref, c.stream, c.account_id, c.side
  FROM unnest(p_attempt_ids) AS k(id) JOIN public.attempts a ON a.attempt_id = k.id JOIN public.commands c ON c.command_id = a.command_id
  WHERE c.kind = 'place';
END
$$;

-- True: the shard is this holder's, and no takeover of its commands begins until the end of the transaction (docs/decisions/102-the-shards-row-is-the-fence.md).
-- A lock beside the row and not of it: the row's would be written to the row and to the write-ahead log by every transaction of the journal.
CREATE FUNCTION public.hold_command_fence(p_shard integer, p_epoch bigint) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(hashtext('tidemark fence'), p_shard);
  -- A statement of its own: its snapshot is younger than the lock.
  PERFORM FROM public.shards s WHERE s.shard = p_shard AND s.epoch = p_epoch;
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

-- The event of the step that a command just took. Returns the command as it is now, as `command_json` does; what both need is read once.
CREATE FUNCTION public.tell_step(p_command_id uuid) RETURNS json
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

CREATE TRIGGER approvals_guard BEFORE UPDATE ON public.approvals FOR EACH ROW EXECUTE FUNCTION public.approvals_guard();
