-- ----- Rights of each role -----
-- `tidemark_owner` owns everything (the runner of the migrations acts as it), `tidemark_app` is the service, `tidemark_reader` people and dashboards.
-- Logins are granted membership by the people who run the database.
GRANT USAGE ON SCHEMA public TO tidemark_app, tidemark_reader;

-- Orders, the log, bindings and numbers of batches are written by apply_batch alone, so behind the lane's fence.
GRANT SELECT ON public.orders, public.current_orders, public.order_updates, public.order_bindings, public.lane_batches TO tidemark_app;
GRANT SELECT, INSERT, UPDATE ON public.lanes, public.relay_positions, public.published_topics, public.accounts TO tidemark_app;
-- How many shards there are is decided once, by the owner.
GRANT SELECT, UPDATE (lane, epoch, since, pinned) ON public.shards TO tidemark_app;
GRANT SELECT, UPDATE (dealt_at), DELETE ON public.dead_letters TO tidemark_app;
GRANT SELECT, INSERT, UPDATE ON public.credentials TO tidemark_app;
GRANT SELECT, INSERT (kind, stream, account_id, dead_letter_id, job_id, since, asked_by, reason, answered_at, result, detail),
  UPDATE (answered_at, result, detail), DELETE ON public.repair_requests TO tidemark_app;
GRANT SELECT, INSERT, UPDATE (ended_at, cancelled_by), DELETE ON public.dead_letter_jobs TO tidemark_app;

-- The service may step commands, and takes nothing of them away.
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
-- Tokens are made and ended by people, as the owner: a service that was broken into cannot give access to others.
GRANT SELECT ON public.principal_tokens TO tidemark_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON public.limits TO tidemark_app;
GRANT SELECT, INSERT, UPDATE (approved_by, approved_reason, approved_at, expires_at) ON public.approvals TO tidemark_app;

GRANT SELECT ON public.orders, public.current_orders, public.moved_states, public.order_updates, public.order_bindings, public.lanes, public.lane_batches, public.shards, public.relay_positions, public.published_topics, public.accounts, public.dead_letters,
  public.repair_requests, public.dead_letter_jobs, public.journal, public.open_commands, public.facts, public.result_positions, public.commands, public.attempts, public.evidence, public.command_events, public.halt_events, public.event_floor,
  public.cancel_alls, public.cancel_timers, public.halts,
  public.limits, public.approvals, public.audit_log TO tidemark_reader;
-- Without the hashes.
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
