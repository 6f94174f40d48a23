-- ----- Lanes -----

-- The number of the lane's last committed batch; 0 before the first. Volatile: it sees what was committed while its caller waited for the lane's row. The newest version
-- is the last of the index. Without sequential scans: a plan made while the table had one page would read all dead versions later.
CREATE FUNCTION public.lane_batch(p_lane integer) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
BEGIN
  RETURN coalesce((SELECT b.batch FROM public.lane_batches b WHERE b.lane = p_lane ORDER BY b.batch DESC LIMIT 1), 0);
END
$$;

-- Moves the lane's batch number from n - 1 to n where the epoch still holds. The row lock that it takes until the end of the transaction makes
-- the order of seq the order of commit. It is a lock and no update, so it leaves no dead version of the lane's row. The number is looked at in a statement after it, which sees
-- every batch before this one. TM001: the epoch is lost, stand by. TM002: a batch before this one failed.
CREATE FUNCTION public.enter_lane(p_lane integer, p_epoch bigint, p_number bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
  v_renewed_at timestamptz;
BEGIN
  SELECT renewed_at INTO v_renewed_at FROM public.lanes WHERE lane = p_lane AND epoch = p_epoch FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'lane % is at epoch %, not %', p_lane, (SELECT epoch FROM public.lanes WHERE lane = p_lane), p_epoch USING ERRCODE = 'TM001';
  END IF;
  UPDATE public.lane_batches SET batch = p_number WHERE lane = p_lane AND batch = p_number - 1;
  IF NOT FOUND THEN
    -- The lane's first batch makes the row.
    INSERT INTO public.lane_batches (lane, batch) SELECT p_lane, p_number
    WHERE p_number = 1 AND NOT EXISTS (SELECT FROM public.lane_batches WHERE lane = p_lane);
    IF NOT FOUND THEN
      RAISE EXCEPTION 'lane % has committed batch %, so % can''t follow', p_lane, public.lane_batch(p_lane), p_number USING ERRCODE = 'TM002';
    END IF;
  END IF;
  -- The holder renews the lease every 2 s. A batch does so only where that fails.
  IF v_renewed_at < clock_timestamp() - interval '3 seconds' THEN
    UPDATE public.lanes SET renewed_at = clock_timestamp() WHERE lane = p_lane;
  END IF;
END
$$;
