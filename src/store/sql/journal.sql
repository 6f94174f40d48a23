-- ----- The journal of commands -----

ALTER TABLE public.commands SET (fillfactor = 60);
ALTER TABLE public.attempts SET (fillfactor = 60);

-- One command for each key that is held, and any number of those that gave it up: one index for both, and for the search by key.
CREATE UNIQUE INDEX commands_one_per_key ON public.commands (idempotency_key, principal, (case when not key_held then command_id end)) NULLS NOT DISTINCT;

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
    'createdAtMs', public.time_to_ms(c.created_at), 'updatedAtMs', public.time_to_ms(c.updated_at), 'resolvedAtMs', public.time_to_ms(c.resolved_at),
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
  INSERT INTO public.command_events (command_id, version, misses, presumed_absent, updated_at, resolved_at, pending_revision, pending_version, state, order_id,
    order_status, reason, attempts)
  VALUES (c.command_id, c.version, c.misses, c.presumed_absent, c.updated_at, c.resolved_at, c.pending_revision, c.pending_version, c.state, c.order_id,
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
