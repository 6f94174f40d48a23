-- Generated. The rules that constraints can't say are triggers in 0004.
CREATE TABLE "attempts" (
	"attempt_id" text PRIMARY KEY NOT NULL,
	"command_id" uuid NOT NULL,
	"number" integer NOT NULL,
	"state" text NOT NULL,
	"epoch" bigint NOT NULL,
	"prepared_at" timestamp with time zone NOT NULL,
	"sending_at" timestamp with time zone,
	"answered_at" timestamp with time zone,
	"reason" json,
	CONSTRAINT "attempts_id" CHECK (starts_with("attempts"."attempt_id", 'tm-') and length("attempts"."attempt_id") <= 64),
	CONSTRAINT "attempts_state" CHECK ("attempts"."state" in ('prepared', 'sending', 'not_sent', 'refused', 'rejected', 'accepted', 'unknown')),
	CONSTRAINT "attempts_number" CHECK ("attempts"."number" > 0)
);
--> statement-breakpoint
CREATE TABLE "audit_log" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "audit_log_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"at" timestamp with time zone NOT NULL,
	"principal" text NOT NULL,
	"action" text NOT NULL,
	"account_id" text,
	"command_id" text,
	"request_id" text,
	"reason" text,
	"detail" json,
	"recorded_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "command_events" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "command_events_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"command_id" uuid NOT NULL,
	"version" integer NOT NULL,
	"snapshot" json NOT NULL,
	"recorded_at" timestamp with time zone DEFAULT now() NOT NULL,
	"published_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "command_fence" (
	"lane" integer PRIMARY KEY NOT NULL,
	"epoch" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "commands" (
	"command_id" uuid PRIMARY KEY NOT NULL,
	"lane" integer NOT NULL,
	"principal" text NOT NULL,
	"idempotency_key" text NOT NULL,
	"key_held" boolean DEFAULT true NOT NULL,
	"request_hash" text NOT NULL,
	"kind" text NOT NULL,
	"stream" text NOT NULL,
	"account_id" text NOT NULL,
	"symbol" text,
	"side" text,
	"request" json NOT NULL,
	"caller_ref" text,
	"supersedes" uuid,
	"state" text NOT NULL,
	"version" integer NOT NULL,
	"order_id" text,
	"reason" json,
	"presumed_absent" boolean DEFAULT false NOT NULL,
	"pending_revision" bigint,
	"pending_version" bigint,
	"misses" integer DEFAULT 0 NOT NULL,
	"baseline" json,
	"deadline_at" timestamp with time zone NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"updated_at" timestamp with time zone NOT NULL,
	"settled_at" timestamp with time zone,
	CONSTRAINT "commands_kind" CHECK ("commands"."kind" in ('place', 'replace', 'cancel')),
	CONSTRAINT "commands_stream" CHECK ("commands"."stream" in ('account', 'prediction')),
	CONSTRAINT "commands_state" CHECK ("commands"."state" in ('open', 'refused', 'not_sent', 'accepted', 'unknown', 'applied', 'rejected', 'moot', 'conflict')),
	CONSTRAINT "commands_settled_is_final" CHECK (("commands"."settled_at" is not null) = ("commands"."state" in ('refused', 'not_sent', 'applied', 'rejected', 'moot'))),
	CONSTRAINT "commands_absence_is_of_unknown" CHECK (not "commands"."presumed_absent" or "commands"."state" = 'unknown'),
	CONSTRAINT "commands_place_has_terms" CHECK ("commands"."kind" <> 'place' or ("commands"."symbol" is not null and "commands"."side" is not null)),
	CONSTRAINT "commands_of_an_order_name_it" CHECK ("commands"."kind" = 'place' or "commands"."order_id" is not null),
	CONSTRAINT "commands_only_places_supersede" CHECK ("commands"."supersedes" is null or "commands"."kind" = 'place'),
	CONSTRAINT "commands_counts" CHECK ("commands"."version" > 0 and "commands"."misses" >= 0)
);
--> statement-breakpoint
CREATE TABLE "evidence" (
	"command_id" uuid NOT NULL,
	"number" integer NOT NULL,
	"kind" text NOT NULL,
	"code" text NOT NULL,
	"detail" json NOT NULL,
	"attempt_id" text,
	"at" timestamp with time zone NOT NULL,
	"recorded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "evidence_command_id_number_pk" PRIMARY KEY("command_id","number"),
	CONSTRAINT "evidence_kind" CHECK ("evidence"."kind" in ('answer', 'update', 'read', 'note', 'person')),
	CONSTRAINT "evidence_number" CHECK ("evidence"."number" > 0)
);
--> statement-breakpoint
CREATE TABLE "halts" (
	"halt_id" text PRIMARY KEY NOT NULL,
	"account_id" text,
	"cause" text NOT NULL,
	"reason" text NOT NULL,
	"raised_by" text NOT NULL,
	"since" timestamp with time zone NOT NULL,
	"cleared_at" timestamp with time zone,
	"cleared_by" text,
	"cleared_reason" text,
	CONSTRAINT "halts_account" CHECK ("halts"."account_id" <> ''),
	CONSTRAINT "halts_cleared_with_a_reason" CHECK (num_nulls("halts"."cleared_at", "halts"."cleared_by", "halts"."cleared_reason") in (0, 3) and "halts"."cleared_reason" <> '')
);
--> statement-breakpoint
CREATE TABLE "order_bindings" (
	"stream" text NOT NULL,
	"order_id" text NOT NULL,
	"attempt_id" text NOT NULL,
	"command_id" uuid NOT NULL,
	"matches" boolean NOT NULL,
	"bound_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "order_bindings_stream_order_id_pk" PRIMARY KEY("stream","order_id")
);
--> statement-breakpoint
CREATE TABLE "principals" (
	"name" text PRIMARY KEY NOT NULL,
	"token_sha256" "bytea" NOT NULL,
	"scopes" text[] NOT NULL,
	"accounts" text[],
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"revoked_at" timestamp with time zone,
	CONSTRAINT "principals_hash" CHECK (octet_length("principals"."token_sha256") = 32)
);
--> statement-breakpoint
ALTER TABLE "attempts" ADD CONSTRAINT "attempts_command_id_commands_command_id_fk" FOREIGN KEY ("command_id") REFERENCES "public"."commands"("command_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "command_events" ADD CONSTRAINT "command_events_command_id_commands_command_id_fk" FOREIGN KEY ("command_id") REFERENCES "public"."commands"("command_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "evidence" ADD CONSTRAINT "evidence_command_id_commands_command_id_fk" FOREIGN KEY ("command_id") REFERENCES "public"."commands"("command_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "attempts_numbered" ON "attempts" USING btree ("command_id","number");--> statement-breakpoint
CREATE UNIQUE INDEX "attempts_one_in_doubt" ON "attempts" USING btree ("command_id") WHERE "attempts"."state" not in ('not_sent', 'refused');--> statement-breakpoint
CREATE INDEX "attempts_in_flight" ON "attempts" USING btree ("epoch") WHERE "attempts"."state" in ('prepared', 'sending');--> statement-breakpoint
CREATE INDEX "audit_log_at" ON "audit_log" USING btree ("at");--> statement-breakpoint
CREATE UNIQUE INDEX "command_events_versions" ON "command_events" USING btree ("command_id","version");--> statement-breakpoint
CREATE INDEX "command_events_unpublished" ON "command_events" USING btree ("id") WHERE "command_events"."published_at" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "commands_one_per_key" ON "commands" USING btree ("principal","idempotency_key") WHERE "commands"."key_held";--> statement-breakpoint
CREATE UNIQUE INDEX "commands_one_place_per_order" ON "commands" USING btree ("stream","order_id") WHERE "commands"."kind" = 'place' and "commands"."order_id" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "commands_superseded_once" ON "commands" USING btree ("supersedes") WHERE "commands"."supersedes" is not null;--> statement-breakpoint
CREATE INDEX "commands_newest" ON "commands" USING btree ("created_at","command_id");--> statement-breakpoint
CREATE INDEX "commands_by_account" ON "commands" USING btree ("account_id","created_at","command_id");--> statement-breakpoint
CREATE INDEX "commands_by_key" ON "commands" USING btree ("idempotency_key");--> statement-breakpoint
CREATE INDEX "commands_not_final" ON "commands" USING btree ("account_id","created_at") WHERE "commands"."settled_at" is null;--> statement-breakpoint
CREATE INDEX "commands_key_held" ON "commands" USING btree ("created_at") WHERE "commands"."key_held";--> statement-breakpoint
CREATE INDEX "commands_settled" ON "commands" USING btree ("settled_at") WHERE "commands"."settled_at" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "halts_one_active" ON "halts" USING btree (coalesce("account_id", ''),"cause") WHERE "halts"."cleared_at" is null;--> statement-breakpoint
CREATE INDEX "order_bindings_by_command" ON "order_bindings" USING btree ("command_id");--> statement-breakpoint
CREATE UNIQUE INDEX "principals_token" ON "principals" USING btree ("token_sha256");