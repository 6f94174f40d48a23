-- The schema beside the tables, which src/store/schema declares: the functions and triggers that hold their rules, subject by subject, and at the end what each role may do.
-- Every function runs with a fixed search_path. Those that write orders and the log run as their owner: the service calls them, and may not write there in any other way.
-- Errors of our own: TM001 the lane's epoch is lost, stand by · TM002 a batch before this one failed · TM003 a head is older than what is stored ·
-- TM010 a write that the journal's rules forbid · TM011 a later holder has taken over the journal · TM012 there is no such command.

-- Until a function is granted below, only its owner may call it.
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;

-- What a row of the journal may say: the checks of the table. The states are those of domain/command-machine.ts; a test compares them cell by cell.
CREATE FUNCTION public.journal_allows(p_kind text, p_number integer, p_version integer, p_from text, p_state text, p_attempt integer, p_attempt_from text, p_attempt_state text,
  p_attempt_id text, p_order_id text, p_resolved_at timestamptz) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF p_kind = 'void' THEN
    RETURN num_nonnulls(p_number, p_version, p_from, p_state, p_attempt, p_attempt_from, p_attempt_state, p_attempt_id, p_order_id, p_resolved_at) = 0;
  END IF;
  IF num_nulls(p_number, p_version, p_state) > 0 OR p_version < 1 OR num_nulls(p_attempt, p_attempt_state) = 1
    OR (p_resolved_at IS NOT NULL) <> (p_state IN ('refused', 'not_sent', 'applied', 'rejected', 'moot'))
    OR NOT (starts_with(p_attempt_id, 'tm-') AND length(p_attempt_id) <= 64)
  THEN
    RETURN false;
  END IF;
  IF p_kind = 'opening' THEN
    RETURN p_number = 1 AND p_version = 1 AND p_state IN ('open', 'refused') AND num_nonnulls(p_from, p_attempt_from) = 0
      AND num_nulls(p_attempt_id, p_attempt_state) = CASE p_state WHEN 'open' THEN 0 ELSE 2 END AND (p_attempt_state IN ('prepared', 'sending')) IS NOT FALSE;
  END IF;
  -- The promise itself: a second write comes only after the one before it is recorded as not sent, or was refused.
  RETURN p_kind IN ('step', 'mark', 'miss', 'kept') AND p_number > 1 AND (p_attempt_state IS NULL) = (p_attempt_from IS NULL)
    AND p_state = ANY (CASE p_from
      WHEN 'open' THEN '{open,refused,not_sent,accepted,unknown,applied,rejected,moot,conflict}'::text[]
      WHEN 'unknown' THEN '{unknown,refused,not_sent,accepted,applied,rejected,moot,conflict}'
      WHEN 'accepted' THEN '{accepted,not_sent,applied,rejected,moot,conflict}'
      WHEN 'conflict' THEN '{conflict,not_sent,applied,rejected,moot}'
      WHEN 'refused' THEN '{refused,moot,accepted,applied,rejected}'
      WHEN 'not_sent' THEN '{not_sent,accepted,applied,rejected}'
      WHEN 'rejected' THEN '{rejected,accepted,applied}'
      WHEN 'moot' THEN '{moot,accepted,applied,rejected}'
      WHEN 'applied' THEN '{applied}'
    END)
    AND CASE p_kind
      WHEN 'mark' THEN p_state = 'open' AND p_from = 'open' AND p_attempt_from = 'prepared' AND p_attempt_state = 'sending' AND p_attempt_id IS NULL
      WHEN 'miss' THEN p_state = 'unknown' AND p_from = 'unknown' AND num_nonnulls(p_attempt_state, p_attempt_id) = 0
      ELSE (p_attempt_from IS NULL OR p_attempt_state = ANY (CASE p_attempt_from
          WHEN 'prepared' THEN '{not_sent}'::text[]
          WHEN 'sending' THEN '{not_sent,refused,rejected,accepted,unknown}'
          WHEN 'unknown' THEN '{unknown,not_sent,refused,rejected,accepted}'
          ELSE ARRAY[p_attempt_from]
        END))
        AND (p_attempt_id IS NULL OR p_state = 'open' AND p_attempt_state IN ('not_sent', 'refused') AND p_attempt_state IS NOT NULL)
    END;
END
$$;

-- The streams of domain/streams.ts; a test compares.
CREATE FUNCTION public.streams() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY['account', 'prediction', 'alpaca', 'alpaca_paper'];

CREATE FUNCTION public.journal_opening_allows(p_kind text, p_command_id uuid, p_principal text, p_key text, p_key_held boolean, p_request_kind text, p_stream text, p_account_id text,
  p_symbol text, p_side text, p_caller_ref text, p_supersedes uuid, p_exposure numeric, p_limits_change bigint, p_token_number integer, p_order_id text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF p_kind <> 'opening' THEN
    RETURN (p_command_id IS NULL) = (p_kind = 'void') AND num_nonnulls(p_principal, p_key, p_key_held, p_request_kind, p_stream, p_account_id, p_symbol, p_side, p_caller_ref,
      p_supersedes, p_exposure, p_limits_change, p_token_number) = 0;
  END IF;
  RETURN num_nulls(p_command_id, p_principal, p_key, p_key_held, p_request_kind, p_stream, p_account_id, p_limits_change) = 0 AND p_stream = ANY (public.streams())
    AND CASE p_request_kind WHEN 'place' THEN num_nulls(p_symbol, p_side) = 0 WHEN 'replace' THEN p_order_id IS NOT NULL
      WHEN 'cancel' THEN p_order_id IS NOT NULL AND p_supersedes IS NULL ELSE false END;
END
$$;

-- The tables follow here. In words that Drizzle lacks: these sequences, PARTITION BY RANGE (seq) for order_updates, and `fillfactor` and NULLS NOT DISTINCT below.
CREATE SEQUENCE public.order_updates_seq AS bigint;
-- Numbers of changes of halts, in the upper half of 40 bits; the lower half is the journal's. Above them the era, which a restored database raises.
CREATE SEQUENCE public.event_numbers AS bigint START 549755813888;
