-- The schema beside the tables, which src/store/schema declares: the functions and triggers that hold their rules, subject by subject, and at the end what each role may do.
-- Every function runs with a fixed search_path. Those that write orders and the log run as their owner: the service calls them, and may not write there in any other way.
-- Errors of our own: TM001 the lane's epoch is lost, stand by · TM002 a batch before this one failed · TM003 a head is older than what is stored ·
-- TM010 a write that the journal's rules forbid · TM011 a later holder has taken over the journal · TM012 there is no such command.

-- Until a function is granted below, only its owner may call it.
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;

-- The tables follow here. In words that Drizzle lacks: this sequence, PARTITION BY RANGE (seq) for order_updates, and `fillfactor` and NULLS NOT DISTINCT below.
CREATE SEQUENCE public.order_updates_seq AS bigint;
