-- ----- Accounts, credentials, repair -----

-- Generated, and edited by hand in three places that drizzle can't say: the sequence, PARTITION BY on order_updates, and the fillfactor of orders.
CREATE TABLE public.accounts (
  stream text NOT NULL,
  account_id text NOT NULL,
  is_sim boolean NOT NULL,
  source_epoch integer NOT NULL,
  read_up_to text,
  audited_up_to text,
  updated_at timestamptz DEFAULT now() NOT NULL,
  CONSTRAINT accounts_stream_account_id_pk PRIMARY KEY (stream, account_id)
);

CREATE TABLE public.credentials (
  credential text PRIMARY KEY,
  generation bigint DEFAULT 0 NOT NULL,
  sealed bytea,
  claimed_by text,
  claimed_until timestamptz,
  updated_at timestamptz DEFAULT now() NOT NULL
);

CREATE TABLE public.quarantine_jobs (
  job_id uuid PRIMARY KEY,
  action text NOT NULL,
  filter json NOT NULL,
  accounts text[],
  reason text NOT NULL,
  asked_by text NOT NULL,
  request_id text NOT NULL,
  asked_at timestamptz DEFAULT now() NOT NULL,
  ended_at timestamptz,
  cancelled_by text,
  discarded integer DEFAULT 0 NOT NULL,
  CONSTRAINT quarantine_jobs_action CHECK (action IN ('retry', 'discard')),
  CONSTRAINT quarantine_jobs_reason CHECK (reason <> ''),
  CONSTRAINT quarantine_jobs_cancelled CHECK (cancelled_by IS NULL OR ended_at IS NOT NULL)
);

CREATE INDEX quarantine_jobs_asked ON public.quarantine_jobs (asked_at);

CREATE TABLE public.repair_requests (
  id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  kind text NOT NULL,
  stream text NOT NULL,
  account_id text,
  quarantine_id bigint,
  job_id uuid REFERENCES public.quarantine_jobs ON DELETE CASCADE,
  since timestamptz,
  asked_by text,
  reason text,
  requested_at timestamptz DEFAULT now() NOT NULL,
  answered_at timestamptz,
  outcome text,
  detail text,
  CONSTRAINT repair_requests_kind CHECK (
    kind IN ('read', 'backfill') AND quarantine_id IS NULL AND job_id IS NULL
    OR kind = 'retry' AND quarantine_id IS NOT NULL),
  CONSTRAINT repair_requests_account CHECK (account_id IS NOT NULL OR job_id IS NOT NULL),
  CONSTRAINT repair_requests_since CHECK (since IS NULL OR kind = 'backfill'),
  CONSTRAINT repair_requests_answer CHECK (num_nulls(answered_at, outcome) IN (0, 2) AND outcome IN ('done', 'failed', 'withdrawn'))
);

CREATE INDEX repair_requests_open ON public.repair_requests (id) WHERE answered_at is null;
CREATE INDEX repair_requests_by_job ON public.repair_requests (job_id, outcome) WHERE job_id is not null;
CREATE INDEX repair_requests_by_row ON public.repair_requests (quarantine_id) WHERE quarantine_id is not null;
