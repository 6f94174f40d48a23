-- What each role may do. `tidemark_owner` owns everything (the runner of the migrations acts as it), `tidemark_app` is the service,
-- `tidemark_reader` people and dashboards. Logins are granted membership by whoever runs the database.
GRANT USAGE ON SCHEMA public TO tidemark_app, tidemark_reader;
--> statement-breakpoint
-- Orders and the log are written by apply_batch alone, so behind the lane's fence.
GRANT SELECT ON public.orders, public.order_updates TO tidemark_app;
GRANT SELECT, INSERT, UPDATE ON public.lanes, public.relay_positions, public.accounts TO tidemark_app;
GRANT SELECT, UPDATE (dealt_at), DELETE ON public.quarantine TO tidemark_app;
GRANT SELECT, INSERT, UPDATE ON public.credentials TO tidemark_app;
--> statement-breakpoint
GRANT SELECT ON public.orders, public.order_updates, public.lanes, public.relay_positions, public.accounts, public.quarantine TO tidemark_reader;
--> statement-breakpoint
REVOKE ALL ON FUNCTION public.enter_lane, public.apply_batch, public.log_partitions, public.ensure_log_partitions, public.drop_log_partition
  FROM PUBLIC;
GRANT EXECUTE ON FUNCTION public.apply_batch, public.log_partitions, public.ensure_log_partitions, public.drop_log_partition TO tidemark_app;
