-- ----- The journal of commands -----

-- One command for each key that is held, and any number of those that gave it up: one index for both, and for the search by key.
CREATE UNIQUE INDEX journal_one_per_key ON public.journal (idempotency_key, principal, (case when not key_held then command_id end)) NULLS NOT DISTINCT
  WHERE kind = 'opening';

-- These functions run as their caller, who may add rows. Constraints and triggers refuse all that no caller may do, so they refuse it to the owner and to people as well.
-- A row that does not follow the one before it is refused by its reader (`command_json`).
--
-- The order of locks. Each write takes them so, and has them to the end of its transaction:
--   1. the fence of its shard, shared; a takeover has it alone. The shard's row is only read
--   2. the command that it supersedes, and a reference that may be used once
--   3. its account, where a limit counts what is at work
--   4. `doubtful`: by a step that may raise a halt (`halt_doubtful`)
--   5. `sending`: shared by what is sent, alone by what forbids to send (`close_sending`: a halt, new limits, the end of a token)
--   6. its key, and its number in the command, by the indexes
-- What forbids takes `sending` last as well, behind a fence, the row of its limits or of its token, so that a row which is held for long holds up no halt.
-- Nothing waits for `sending` while others may wait for it: those who have it may wait for a key. An opening tries it (`try_sending`), and so does a mark beside others.
-- Only a mark that is alone in its transaction waits, with its fence. A step that raises a halt waits for it also in a group, which may have it shared: it has `doubtful`
-- alone, and a group tries that as well, so no two of them wait for each other.
-- What else may meet (two processes at one key; a takeover; a halt beside a mark) is ended by a group's lock timeout of 100 ms, and the write asked for again alone.

-- These two are of a volatility that lets the planner put their text in their place. Everything longer is plpgsql, which keeps its plans: a function in SQL is
-- planned again by each statement that calls it.
CREATE FUNCTION public.ms_to_time(p_ms double precision) RETURNS timestamptz
LANGUAGE sql IMMUTABLE AS $$ SELECT to_timestamp(p_ms / 1000) $$;

CREATE FUNCTION public.time_to_ms(p_at timestamptz) RETURNS bigint
LANGUAGE sql STABLE AS $$ SELECT round(extract(epoch FROM p_at) * 1000)::bigint $$;

-- The status of an order for a command. Only of an order of the same account: a cancel may name any order, and its answer must not show those of others.
CREATE FUNCTION public.order_status_of(p_command_id uuid, p_kind text, p_stream text, p_order_id text, p_account_id text, p_incarnation text) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  -- Of the command's own order: the platform may have given the id again since. The order itself is read only where that is so.
  RETURN (SELECT o.status FROM public.orders o WHERE o.stream = p_stream AND o.order_id = p_order_id AND o.account_id = p_account_id
    AND CASE WHEN p_kind <> 'place' THEN o.join_state ->> 'incarnation' IS NOT DISTINCT FROM p_incarnation
      WHEN o.join_state ->> 'incarnation' IS NULL THEN true
      ELSE (SELECT v.state ->> 'commandId' = p_command_id::text FROM public.current_orders v WHERE v.stream = p_stream AND v.order_id = p_order_id) END);
END
$$;

-- A command with its attempts in the names of domain/command.ts, as it was after this row; null: as it is now. 64-bit numbers are text, absent values are null at the top
-- level of each object. A row that does not follow the one before it, or can't be read, is a `fault` instead: no row is written behind it.
CREATE FUNCTION public.command_json(p_command_id uuid, p_number integer DEFAULT NULL) RETURNS json
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

-- Each command as it is now: its opening, and its newest row. Those that are not final are found by `open_commands`.
CREATE VIEW public.commands WITH (security_invoker = true) AS
SELECT o.command_id, o.shard, o.principal, o.idempotency_key, o.body::json ->> 'requestHash' AS request_hash, o.request_kind AS kind, o.stream, o.account_id, o.symbol, o.side,
  o.body::json -> 'request' AS request, o.caller_ref, o.supersedes, o.body::json -> 'baseline' AS baseline, o.exposure, o.limits_change, o.token_number,
  public.ms_to_time((o.body::json ->> 'deadlineAtMs')::double precision) AS deadline_at, o.at AS created_at, o.key_held, n.state, n.version, n.order_id,
  n.body::json -> 'reason' AS reason, coalesce((n.body::json ->> 'presumedAbsent')::boolean, false) AS presumed_absent,
  coalesce((n.body::json ->> 'misses')::integer, 0) AS misses, coalesce(public.ms_to_time((n.body::json ->> 'updatedAtMs')::double precision), n.at) AS updated_at,
  n.resolved_at, n.number
FROM public.journal o CROSS JOIN LATERAL (SELECT * FROM public.journal j WHERE j.command_id = o.command_id ORDER BY j.number DESC LIMIT 1) n
WHERE o.kind = 'opening';

-- Each attempt as it is now: by the row that prepared it, and its command's newest.
CREATE VIEW public.attempts WITH (security_invoker = true) AS
SELECT p.attempt_id, p.command_id, k.number, coalesce((t.was ->> 5)::bigint, p.epoch) AS epoch,
  coalesce(public.ms_to_time((t.was ->> 6)::double precision), p.at) AS prepared_at, t.was ->> 0 AS state, public.ms_to_time((t.was ->> 1)::double precision) AS sending_at,
  public.ms_to_time((t.was ->> 2)::double precision) AS answered_at, t.was -> 3 AS reason
FROM public.journal p CROSS JOIN LATERAL (SELECT json_array_length(p.body::json -> 'attempts') AS number) k
CROSS JOIN LATERAL (
  SELECT j.body::json -> 'attempts' -> k.number - 1 AS was FROM public.journal j WHERE j.command_id = p.command_id ORDER BY j.number DESC LIMIT 1) t
WHERE p.attempt_id IS NOT NULL;

-- The facts of each command, in their order. An opening's note and a mark's are not written: their rows say the same.
CREATE VIEW public.evidence WITH (security_invoker = true) AS
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

-- The steps, for `tidemark.command-results.v1` and the stream of events.
CREATE VIEW public.command_events WITH (security_invoker = true) AS
SELECT tx_id, seq AS id, shard, command_id, number, version, state, order_status, recorded_at FROM public.journal WHERE kind IN ('opening', 'step');

-- Places only: no other kind of command has its reference on an order. Planned as `heads_of`.
CREATE FUNCTION public.bindings_of(p_attempt_ids text[], OUT attempt_id text, OUT command_id uuid, OUT caller_ref text, OUT stream text, OUT account_id text, OUT side text)
RETURNS SETOF record
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET plan_cache_mode = 'force_generic_plan'
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  RETURN QUERY SELECT a.attempt_id, o.command_id, o.caller_ref, o.stream, o.account_id, o.side
  FROM unnest(p_attempt_ids) AS k(id) JOIN public.journal a ON a.attempt_id = k.id JOIN public.journal o ON o.command_id = a.command_id AND o.number = 1
  WHERE o.request_kind <> 'cancel';
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

-- Facts of a command beside its rows, behind the newest one.
CREATE FUNCTION public.add_facts(p_command_id uuid, p_facts text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO public.facts (command_id, behind, body)
  SELECT p_command_id, j.number, p_facts FROM public.journal j WHERE j.command_id = p_command_id ORDER BY j.number DESC LIMIT 1;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'there is no command %', p_command_id USING ERRCODE = 'TM012';
  END IF;
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
