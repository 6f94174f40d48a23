-- Generated, and edited by hand in three places that drizzle can't say: the sequence, PARTITION BY on "order_updates", and the fillfactor of "orders".
CREATE TABLE "accounts" (
	"stream" text NOT NULL,
	"account_id" text NOT NULL,
	"is_sim" boolean NOT NULL,
	"source_epoch" integer NOT NULL,
	"read_up_to" text,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "accounts_stream_account_id_pk" PRIMARY KEY("stream","account_id")
);
--> statement-breakpoint
CREATE TABLE "credentials" (
	"credential" text PRIMARY KEY NOT NULL,
	"generation" bigint DEFAULT 0 NOT NULL,
	"sealed" "bytea",
	"claimed_by" text,
	"claimed_until" timestamp with time zone,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "lanes" (
	"lane" integer PRIMARY KEY NOT NULL,
	"holder" text,
	"epoch" bigint NOT NULL,
	"batch" bigint NOT NULL,
	"renewed_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE SEQUENCE "order_updates_seq" AS bigint;
--> statement-breakpoint
CREATE TABLE "order_updates" (
	"seq" bigint PRIMARY KEY DEFAULT nextval('public.order_updates_seq') NOT NULL,
	"lane" integer NOT NULL,
	"batch" bigint NOT NULL,
	"stream" text NOT NULL,
	"order_id" text NOT NULL,
	"account_id" text NOT NULL,
	"revision" bigint NOT NULL,
	"payload" text NOT NULL,
	"recorded_at" timestamp with time zone DEFAULT now() NOT NULL
) PARTITION BY RANGE ("seq");
--> statement-breakpoint
CREATE TABLE "orders" (
	"stream" text NOT NULL,
	"order_id" text NOT NULL,
	"lane" integer NOT NULL,
	"account_id" text NOT NULL,
	"symbol" text NOT NULL,
	"status" text NOT NULL,
	"is_open" boolean GENERATED ALWAYS AS (status not in ('filled', 'replaced', 'canceled', 'expired', 'rejected')) STORED NOT NULL,
	"revision" bigint NOT NULL,
	"source_version" bigint,
	"state" json NOT NULL,
	"join_state" json NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "orders_stream_order_id_pk" PRIMARY KEY("stream","order_id")
) WITH (fillfactor = 80);
--> statement-breakpoint
CREATE TABLE "quarantine" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "quarantine_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"lane" integer NOT NULL,
	"batch" bigint NOT NULL,
	"stream" text NOT NULL,
	"account_id" text,
	"order_id" text,
	"reason" text NOT NULL,
	"detail" text NOT NULL,
	"raw" text NOT NULL,
	"observed_at" timestamp with time zone NOT NULL,
	"recorded_at" timestamp with time zone DEFAULT now() NOT NULL,
	"dealt_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "relay_positions" (
	"lane" integer NOT NULL,
	"cursor" text NOT NULL,
	"seq" bigint NOT NULL,
	"saved_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "relay_positions_lane_cursor_pk" PRIMARY KEY("lane","cursor")
);
--> statement-breakpoint
CREATE INDEX "orders_by_account" ON "orders" USING btree ("account_id","stream","is_open","order_id");--> statement-breakpoint
CREATE INDEX "quarantine_open" ON "quarantine" USING btree ("stream","reason") WHERE "quarantine"."dealt_at" is null;