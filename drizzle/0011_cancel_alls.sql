-- What a cancel-all set out to cancel, under its key: asked again, it is about these orders and no others.
CREATE TABLE "cancel_alls" (
	"cancel_all_id" uuid PRIMARY KEY NOT NULL,
	"lane" integer NOT NULL,
	"principal" text NOT NULL,
	"idempotency_key" text NOT NULL,
	"key_held" boolean DEFAULT true NOT NULL,
	"request_hash" text NOT NULL,
	"account_id" text,
	"reason" text NOT NULL,
	"orders" json NOT NULL,
	"declined" json NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "cancel_alls_account" CHECK ("cancel_alls"."account_id" <> '')
);
--> statement-breakpoint
CREATE UNIQUE INDEX "cancel_alls_one_per_key" ON "cancel_alls" USING btree ("lane","principal","idempotency_key") WHERE "cancel_alls"."key_held";--> statement-breakpoint
CREATE INDEX "cancel_alls_key_held" ON "cancel_alls" USING btree ("created_at") WHERE "cancel_alls"."key_held";
--> statement-breakpoint
-- Like the key of a command, that of a cancel-all is held until all its cancels are final, and seven days at least.
CREATE FUNCTION public.cancel_all_holds_key(c public.cancel_alls, p_at timestamptz) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN c.created_at > p_at - interval '7 days' OR EXISTS (
    SELECT FROM public.commands m
    WHERE m.settled_at IS NULL AND m.principal = c.principal AND starts_with(m.idempotency_key, 'cancel-all:' || c.cancel_all_id || ':'));
END
$$;
--> statement-breakpoint
-- One cancel-all with its list, unless the key is known: then the one of that key. `p` is a NewCancelAll (commands/command-journal.ts).
CREATE FUNCTION public.open_cancel_all(p_lane integer, p_epoch bigint, p json) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v public.cancel_alls;
  v_at timestamptz := public.ms_to_time((p ->> 'atMs')::double precision);
BEGIN
  IF NOT public.hold_command_fence(p_lane, p_epoch) THEN
    RETURN json_build_object('kind', 'fenced');
  END IF;
  LOOP
    SELECT * INTO v FROM public.cancel_alls WHERE lane = p_lane AND principal = p ->> 'principal' AND idempotency_key = p ->> 'idempotencyKey' AND key_held;
    IF FOUND THEN
      IF public.cancel_all_holds_key(v, v_at) THEN
        IF v.request_hash = p ->> 'requestHash' THEN
          RETURN json_build_object('kind', 'replayed', 'cancelAll', public.cancel_all_json(v));
        END IF;
        RETURN json_build_object('kind', 'key_reused');
      END IF;
      UPDATE public.cancel_alls SET key_held = false WHERE cancel_all_id = v.cancel_all_id AND key_held;
    END IF;
    INSERT INTO public.cancel_alls (cancel_all_id, lane, principal, idempotency_key, request_hash, account_id, reason, orders, declined, created_at)
    VALUES ((p ->> 'cancelAllId')::uuid, p_lane, p ->> 'principal', p ->> 'idempotencyKey', p ->> 'requestHash', p ->> 'accountId', p ->> 'reason',
      p -> 'orders', p -> 'declined', v_at)
    ON CONFLICT (lane, principal, idempotency_key) WHERE key_held DO NOTHING
    RETURNING * INTO v;
    EXIT WHEN FOUND;
  END LOOP;
  RETURN json_build_object('kind', 'opened', 'cancelAll', public.cancel_all_json(v));
END
$$;
--> statement-breakpoint
CREATE FUNCTION public.cancel_all_json(c public.cancel_alls) RETURNS json
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN json_build_object('cancelAllId', c.cancel_all_id, 'principal', c.principal, 'idempotencyKey', c.idempotency_key, 'requestHash', c.request_hash,
    'accountId', c.account_id, 'reason', c.reason, 'orders', c.orders, 'declined', c.declined, 'atMs', public.time_to_ms(c.created_at));
END
$$;
--> statement-breakpoint
CREATE FUNCTION public.cancel_alls_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NEW.key_held OR NOT OLD.key_held OR
    (OLD.cancel_all_id, OLD.lane, OLD.principal, OLD.idempotency_key, OLD.request_hash, OLD.account_id, OLD.reason, OLD.orders::text, OLD.declined::text, OLD.created_at)
    IS DISTINCT FROM
    (NEW.cancel_all_id, NEW.lane, NEW.principal, NEW.idempotency_key, NEW.request_hash, NEW.account_id, NEW.reason, NEW.orders::text, NEW.declined::text, NEW.created_at)
  THEN
    RAISE EXCEPTION 'cancel-all % gives up its key once, and never changes otherwise', OLD.cancel_all_id USING ERRCODE = 'TM010';
  END IF;
  RETURN NEW;
END
$$;
--> statement-breakpoint
CREATE TRIGGER cancel_alls_guard BEFORE UPDATE ON public.cancel_alls FOR EACH ROW EXECUTE FUNCTION public.cancel_alls_guard();
CREATE TRIGGER cancel_alls_stay BEFORE DELETE OR TRUNCATE ON public.cancel_alls FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_loss();
--> statement-breakpoint
GRANT SELECT, INSERT, UPDATE (key_held) ON public.cancel_alls TO tidemark_app;
GRANT SELECT ON public.cancel_alls TO tidemark_reader;
REVOKE ALL ON FUNCTION public.cancel_all_holds_key, public.open_cancel_all, public.cancel_all_json, public.cancel_alls_guard FROM PUBLIC;
GRANT EXECUTE ON FUNCTION public.cancel_all_holds_key, public.open_cancel_all, public.cancel_all_json TO tidemark_app;
GRANT EXECUTE ON FUNCTION public.cancel_all_json TO tidemark_reader;
