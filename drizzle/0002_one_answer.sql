-- Each fact stands once. What changes for tables and rows is written by hand; the functions below the line are copied from src/store/sql.

-- Events of a later generation have numbers from its first on: see `begin_generation`. Readers of the stream get a reset once.
SELECT setval('public.command_events_id_seq', greatest(last_value, (SELECT max(generation)::bigint FROM public.lanes WHERE generation > 1) << 40)) FROM public.command_events_id_seq;

-- ----- From here on as src/store/sql has it: functions, views and triggers that are new or changed, and all rights. Written by test/store/baseline.test.ts -----

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
  -- Events of before have lower numbers than the generation's first: see `readEvents`.
  PERFORM setval('public.command_events_id_seq', greatest(last_value + 1000000000, begin_generation.generation::bigint << 40)) FROM public.command_events_id_seq;
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
  public.move_order_states, public.drop_log_partition, public.log_kept_by, public.no_state, public.lane_batch, public.unpublished_lanes, public.lacks_actions, public.lacks_commits, public.notice_loss, public.end_token_again TO tidemark_app;

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

GRANT EXECUTE ON FUNCTION public.canonical_symbol, public.symbol_letters, public.order_chain, public.log_partitions, public.no_state TO tidemark_reader;
