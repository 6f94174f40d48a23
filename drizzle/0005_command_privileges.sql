-- The command side's tables, to the roles of 0002. The service may step commands, and takes nothing away but published events.
GRANT SELECT, INSERT, UPDATE ON public.commands, public.attempts, public.command_fence TO tidemark_app;
GRANT SELECT, INSERT ON public.evidence, public.audit_log TO tidemark_app;
GRANT SELECT, INSERT, UPDATE (published_at), DELETE ON public.command_events TO tidemark_app;
GRANT SELECT, INSERT, UPDATE (cleared_at, cleared_by, cleared_reason) ON public.halts TO tidemark_app;
GRANT SELECT, INSERT, UPDATE (revoked_at) ON public.principals TO tidemark_app;
-- Bindings are written by apply_batch_with_bindings alone, so behind the lane's fence.
GRANT SELECT ON public.order_bindings TO tidemark_app;
--> statement-breakpoint
GRANT SELECT ON public.commands, public.attempts, public.evidence, public.command_events, public.command_fence, public.order_bindings, public.halts,
  public.audit_log TO tidemark_reader;
-- Not the hashes.
GRANT SELECT (name, scopes, accounts, created_at, revoked_at) ON public.principals TO tidemark_reader;
--> statement-breakpoint
REVOKE ALL ON FUNCTION public.apply_batch_with_bindings, public.ms_to_time, public.time_to_ms, public.command_json, public.hold_command_fence, public.append_evidence,
  public.add_command_evidence, public.tell_step, public.open_command, public.mark_sending, public.step_command, public.take_over_commands, public.raise_halt,
  public.clear_halts, public.commands_guard, public.attempts_guard, public.halts_guard, public.command_events_guard, public.refuse_loss FROM PUBLIC;
GRANT EXECUTE ON FUNCTION public.apply_batch_with_bindings, public.ms_to_time, public.time_to_ms, public.command_json, public.hold_command_fence,
  public.append_evidence, public.add_command_evidence, public.tell_step, public.open_command, public.mark_sending, public.step_command, public.take_over_commands,
  public.raise_halt, public.clear_halts TO tidemark_app;
GRANT EXECUTE ON FUNCTION public.ms_to_time, public.time_to_ms, public.command_json TO tidemark_reader;
