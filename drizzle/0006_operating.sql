CREATE TABLE "repair_requests" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "repair_requests_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"kind" text NOT NULL,
	"stream" text NOT NULL,
	"account_id" text NOT NULL,
	"quarantine_id" bigint,
	"requested_at" timestamp with time zone DEFAULT now() NOT NULL,
	"answered_at" timestamp with time zone,
	"outcome" text,
	"detail" text
);
--> statement-breakpoint
ALTER TABLE "lanes" ADD COLUMN "generation" integer DEFAULT 1 NOT NULL;--> statement-breakpoint
CREATE INDEX "repair_requests_open" ON "repair_requests" USING btree ("id") WHERE "repair_requests"."answered_at" is null;