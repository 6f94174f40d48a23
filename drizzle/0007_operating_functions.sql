-- What people do to an installation: after a restore, and the bounds that keep its disk from filling.

-- The database is an older copy of itself: everything since was told to consumers under revisions that will now be given again. The owner's alone.
-- * Every lane gets a generation above its own and at least p_least, which its next holder puts above every revision; its epoch rises, so that whoever holds it now
--   is fenced and begins a term under the new one. A lane that no row knows (the copy is empty) is founded.
-- * The log's numbers jump: an id of the stream of updates that was given out and lost is never given again.
-- * The state topic may be ahead of the copy, and cannot bear an older state: its writer goes on behind what the copy holds.
-- * An attempt that was only prepared when the copy was made may have been sent since: it counts as sent, so that the next holder finds out about it.
-- * Commands made since are not in the journal, nor their idempotency keys: nothing may be placed until a person has looked.
CREATE FUNCTION public.after_restore(p_lane integer, p_least integer, p_halt_id text, p_by text, OUT generation integer, OUT attempts integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_seq bigint;
BEGIN
  INSERT INTO public.lanes (lane, holder, epoch, batch, renewed_at) VALUES (p_lane, NULL, 1, 0, clock_timestamp()) ON CONFLICT DO NOTHING;
  -- Each row waits for the batch that has it, and shuts out the next.
  PERFORM FROM public.lanes ORDER BY lane FOR UPDATE;
  SELECT greatest(max(l.generation) + 1, p_least) INTO after_restore.generation FROM public.lanes l;
  UPDATE public.lanes l SET generation = after_restore.generation, epoch = l.epoch + 1, holder = NULL;

  -- A thousand million: more than a day of the highest rate measured.
  SELECT setval('public.order_updates_seq', last_value + 1000000000) INTO v_seq FROM public.order_updates_seq;
  INSERT INTO public.relay_positions AS p (lane, cursor, seq) SELECT l.lane, 'state', v_seq FROM public.lanes l
  ON CONFLICT (lane, cursor) DO UPDATE SET seq = greatest(p.seq, excluded.seq), saved_at = now();

  UPDATE public.attempts SET state = 'sending', sending_at = clock_timestamp() WHERE state = 'prepared';
  GET DIAGNOSTICS attempts = ROW_COUNT;
  INSERT INTO public.halts (halt_id, account_id, cause, reason, raised_by, since)
  VALUES (p_halt_id, NULL, 'operator', 'the database was restored: commands made since the copy are not in the journal', p_by, clock_timestamp())
  ON CONFLICT (coalesce(account_id, ''), cause) WHERE cleared_at IS NULL DO NOTHING;
END
$$;
--> statement-breakpoint
-- As before, but a lane keeps a partition only while it has rows in it that a cursor of its own has not passed. A lane that was tried once keeps its cursors where they
-- were for good, and nothing was ever dropped again. The retention is asked first: the rows of such a lane are looked for in a partition that goes otherwise.
CREATE OR REPLACE FUNCTION public.drop_log_partition(p_retention interval) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '250ms' AS $$
DECLARE
  v_name text;
  v_until bigint;
  v_newest timestamptz;
  v_kept boolean;
  v_last bigint;
  v record;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('tidemark'), hashtext('log_partitions'));
  SELECT p.name, p.until_seq INTO v_name, v_until FROM public.log_partitions() p LIMIT 1;
  SELECT last_value INTO v_last FROM public.order_updates_seq;
  -- What rows may still come into stays.
  IF v_name IS NULL OR v_until > v_last OR NOT EXISTS (SELECT FROM public.lanes) THEN
    RETURN NULL;
  END IF;
  EXECUTE format('SELECT recorded_at FROM public.%I ORDER BY seq DESC LIMIT 1', v_name) INTO v_newest;
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
  EXECUTE format('DROP TABLE public.%I', v_name);
  RETURN v_name;
END
$$;
--> statement-breakpoint
ALTER TABLE public.repair_requests
  ADD CONSTRAINT repair_requests_kind CHECK (kind = 'backfill' AND quarantine_id IS NULL OR kind = 'retry' AND quarantine_id IS NOT NULL),
  ADD CONSTRAINT repair_requests_answer CHECK (num_nulls(answered_at, outcome) IN (0, 2) AND outcome IN ('done', 'failed', 'withdrawn'));
GRANT SELECT, INSERT (kind, stream, account_id, quarantine_id), UPDATE (answered_at, outcome, detail), DELETE ON public.repair_requests TO tidemark_app;
GRANT SELECT ON public.repair_requests TO tidemark_reader;
REVOKE ALL ON FUNCTION public.after_restore FROM PUBLIC;
