-- ----- Limits before a command is journaled -----

-- A LimitReading of domain/limits.ts. Broken without a value: it can't be computed.
CREATE FUNCTION public.limit_reading(p_limit text, p_bound text, p_broken boolean, p_value text, p_why text DEFAULT NULL, p_needs_quote boolean DEFAULT NULL) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN json_strip_nulls(json_build_object('limit', p_limit, 'bound', p_bound, 'broken', p_broken, 'value', p_value, 'why', p_why, 'needsQuote', p_needs_quote));
END
$$;

-- The one form of a symbol, as `canonicalSymbol` makes it (domain/symbol.ts): upper case, no blanks around it, an option compact. In a Turkish database `upper` makes
-- another letter of i.
CREATE FUNCTION public.canonical_symbol(p_symbol text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(upper(translate(btrim(p_symbol), 'i', 'I')), '^(?:O:)?([A-Z0-9.]{1,6}) *([0-9]{6}[CP][0-9]{8})$', E'\\1\\2');

-- What a reader's symbol is compared by, as `symbolLetters` makes it (domain/symbol.ts): the one form without blanks and signs; signs alone stay.
CREATE FUNCTION public.symbol_letters(p_symbol text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(nullif(translate(public.canonical_symbol(p_symbol), ' !"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', ''), ''), public.canonical_symbol(p_symbol));

-- What limits know a symbol by: an option by its root.
CREATE FUNCTION public.underlying_symbol(p_symbol text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(upper(translate(btrim(p_symbol), 'i', 'I')), '^(?:O:)?([A-Z0-9.]{1,6}) *[0-9]{6}[CP][0-9]{8}$', E'\\1');

-- Whether limits know both by one symbol. A share class is one in each spelling (BRK.B, BRK/B): the venue may show it in another than it was placed in. The signs of
-- a prediction market are part of its name.
CREATE FUNCTION public.same_underlying(p_stream text, p_symbol text, p_underlying text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN public.underlying_symbol(p_symbol) = p_underlying
  OR p_stream <> 'prediction' AND public.symbol_letters(public.underlying_symbol(p_symbol)) = public.symbol_letters(p_underlying);

-- Money at work in an account, or in one symbol of it: open orders and commands that may have placed one, both sides added up. One statement, so one snapshot: an order
-- and the command that placed it, which ingest binds in one transaction, are counted once. `unvalued` names one whose value is not known. Where a replace makes a new
-- order, both are open for a moment and one of them trades: the larger counts.
CREATE FUNCTION public.exposure_of(p_account text, p_symbol text, OUT amount numeric, OUT unvalued text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  WITH e AS MATERIALIZED (
    SELECT 'order ' || o.order_id AS name, o.stream, o.order_id, s.replaces, CASE
      WHEN s."leavesQty" = 0 THEN 0
      -- It is for an amount of money: as much of it as its fills left.
      WHEN s."leavesQty" IS NULL THEN greatest(s.notional - s."cumQty" * coalesce(s."avgPrice", 0), 0)
      -- As `measureCommand` values them: a buy of a prediction at its price, anything else at the most a contract can be worth.
      WHEN o.stream = 'prediction' THEN s."leavesQty" * CASE WHEN lower(s.side) = 'buy' THEN coalesce((s.working ->> 'price')::numeric, s.price, 1) ELSE 1 END
      WHEN c.exposure IS NULL AND u.bounded IS NOT TRUE THEN NULL
      -- A price of its own, or what it was valued at when it was placed here.
      ELSE s."leavesQty" * greatest(
        abs(coalesce((s.working ->> 'price')::numeric, s.price)) * u.shares, abs(s."stopPrice") * u.shares,
        c.exposure / nullif((c.request -> 'terms' ->> 'qty')::numeric, 0))
      END AS value
    FROM unnest(public.streams()) AS k(stream)
    JOIN public.current_orders o ON o.account_id = p_account AND o.stream = k.stream AND o.is_open
    CROSS JOIN LATERAL json_to_record(o.state) AS s(instrument json, side text, price numeric, "stopPrice" numeric, working json, notional numeric, "cumQty" numeric, "avgPrice" numeric, "leavesQty" numeric, "commandId" uuid, replaces text)
    CROSS JOIN LATERAL (SELECT s.instrument ->> 'kind' = 'option', json_array_length(coalesce(s.instrument -> 'legs', '[]'))) AS i(is_option, legs)
    CROSS JOIN LATERAL (SELECT
      CASE WHEN NOT i.is_option THEN 1 WHEN i.legs = 1 THEN 100 * ceil((s.instrument -> 'legs' -> 0 ->> 'ratioQty')::numeric) ELSE 100 END,
      CASE WHEN NOT i.is_option OR i.legs = 1 THEN true
        -- Without legs it may be a package of any number of contracts, unless its symbol names one.
        WHEN i.legs = 0 THEN public.underlying_symbol(public.symbol_letters(o.symbol)) <> public.symbol_letters(o.symbol)
        -- The net price of several legs bounds a purchase alone, and only above zero (as `isCapped` of domain/measure-command.ts says).
        ELSE lower(s.side) LIKE 'buy%' AND coalesce((s.working ->> 'price')::numeric, s.price) > 0 AND 0 <= (
          SELECT sum((l ->> 'ratioQty')::numeric * CASE WHEN lower(l ->> 'side') LIKE 'buy%' THEN 1 ELSE -1 END) FROM json_array_elements(s.instrument -> 'legs') AS l)
      END) AS u(shares, bounded)
    LEFT JOIN public.commands c ON c.command_id = s."commandId"
    -- The platform may show an order by the symbol of its contract, which can have another root (`AAPL1`) than the place's own symbol.
    WHERE p_symbol IS NULL OR public.same_underlying(o.stream, o.symbol, p_symbol) OR public.same_underlying(o.stream, c.symbol, p_symbol)
    UNION ALL
    SELECT 'command ' || c.command_id, NULL, NULL, NULL, c.exposure
    FROM public.open_commands w JOIN public.commands c ON c.command_id = w.command_id
    WHERE w.account_id = p_account AND w.standing <> 'resolved' AND c.kind <> 'cancel'
      AND NOT EXISTS (SELECT FROM public.order_bindings b WHERE b.command_id = c.command_id AND b.matches)
      AND (p_symbol IS NULL OR public.same_underlying(c.stream, coalesce(c.symbol,
        (SELECT o.symbol FROM public.orders o WHERE o.stream = c.stream AND o.order_id = c.order_id)), p_symbol))
  )
  SELECT coalesce(sum(CASE WHEN b.value IS NULL THEN e.value ELSE greatest(e.value - b.value, 0) END), 0), min(e.name) FILTER (WHERE e.value IS NULL) INTO amount, unvalued
  FROM e LEFT JOIN e AS b ON b.stream = e.stream AND b.order_id = e.replaces;
END
$$;

-- What the limits say of a place or a replace, in the order in which they are judged: each a LimitReading of domain/limits.ts. `p` is a NewCommand. Every row that matches
-- holds, so the tightest value of each bound counts. `p_all`: every limit that applies, in one look that locks nothing; otherwise it ends with the first that is broken.
CREATE FUNCTION public.weigh_limits(p json, p_all boolean) RETURNS SETOF json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  m jsonb := p -> 'measure';
  b record;
  v_kind text := p -> 'request' ->> 'kind';
  v_account text := p -> 'request' ->> 'accountId';
  v_principal text := p ->> 'principal';
  v_at timestamptz := public.ms_to_time((p ->> 'atMs')::double precision);
  v_symbol text := m -> 'underlyings' ->> 0;
  v_by_quote boolean := (m ->> 'valuedByQuote')::boolean;
  v_missing text;
  v_no_quote text;
  v_count bigint;
  v_own bigint;
  v_same uuid;
BEGIN
  IF v_kind = 'cancel' THEN
    RETURN;
  END IF;
  SELECT count(*) AS rows,
    min((l.bounds ->> 'maxQuantity')::numeric) AS quantity, min((l.bounds ->> 'maxNotional')::numeric) AS notional,
    min((l.bounds ->> 'collarPercent')::numeric) AS collar, -- The row of everyone has one even where it does not say so; each other row can only lower it.
    least(coalesce(min((l.bounds ->> 'maxQuoteAgeMs')::bigint) FILTER (WHERE l.principal IS NULL AND l.account_id IS NULL), 10000),
      min((l.bounds ->> 'maxQuoteAgeMs')::bigint) FILTER (WHERE l.principal IS NOT NULL OR l.account_id IS NOT NULL)) AS quote_age,
    min((l.bounds ->> 'maxOpenOrders')::bigint) AS open_orders,
    min((l.bounds ->> 'maxSymbolExposure')::numeric) AS symbol_exposure, min((l.bounds ->> 'maxAccountExposure')::numeric) AS account_exposure,
    -- A row that names a principal counts the commands of that principal; any other row counts those of all.
    min((l.bounds ->> 'ordersPerMinute')::bigint) FILTER (WHERE l.principal IS NULL) AS rate,
    min((l.bounds ->> 'ordersPerMinute')::bigint) FILTER (WHERE l.principal IS NOT NULL) AS own_rate,
    max((l.bounds ->> 'duplicateWindowMs')::bigint) FILTER (WHERE l.principal IS NULL) AS same_within,
    max((l.bounds ->> 'duplicateWindowMs')::bigint) FILTER (WHERE l.principal IS NOT NULL) AS own_same_within,
    min((l.bounds -> 'allowedSymbols')::text) AS any_allowed,
    min((l.bounds -> 'allowedSymbols')::text) FILTER (WHERE NOT l.bounds -> 'allowedSymbols' ?& ARRAY(SELECT jsonb_array_elements_text(m -> 'underlyings'))) AS allowed,
    min((l.bounds -> 'forbiddenSymbols')::text) AS any_forbidden,
    -- Letters and digits alone are compared: what is forbidden as BRK.B is forbidden as BRK/B, and as the root BRKB of a contract.
    min((l.bounds -> 'forbiddenSymbols')::text) FILTER (WHERE EXISTS (
      SELECT FROM jsonb_array_elements_text(l.bounds -> 'forbiddenSymbols') AS f(symbol), jsonb_array_elements_text(m -> 'symbols') AS t(symbol)
      WHERE regexp_replace(f.symbol, '[^A-Z0-9]', '', 'g') = regexp_replace(t.symbol, '[^A-Z0-9]', '', 'g'))) AS forbidden,
    min((l.bounds -> 'instruments')::text) AS any_instruments,
    min((l.bounds -> 'instruments')::text) FILTER (WHERE NOT l.bounds -> 'instruments' ? (m ->> 'instrument')) AS instruments
  INTO b FROM public.limits l
  WHERE (coalesce(l.principal, ''), coalesce(l.account_id, '')) IN (('', ''), ('', v_account), (v_principal, ''), (v_principal, v_account));

  IF (p ->> 'limitsRequired')::boolean AND num_nulls(b.quantity, b.notional, least(b.rate, b.own_rate)) > 0 THEN
    v_missing := concat_ws(', ', CASE WHEN b.quantity IS NULL THEN 'maxQuantity' END, CASE WHEN b.notional IS NULL THEN 'maxNotional' END,
      CASE WHEN least(b.rate, b.own_rate) IS NULL THEN 'ordersPerMinute' END);
    RETURN NEXT public.limit_reading('required', v_missing, true, NULL);
    IF NOT p_all THEN
      RETURN;
    END IF;
  END IF;
  IF b.rows = 0 THEN
    RETURN;
  END IF;
  IF m IS NULL OR NOT m ?& ARRAY['symbols', 'underlyings', 'exposure'] THEN
    RAISE EXCEPTION 'command % comes without what its limits are held against', p ->> 'commandId' USING ERRCODE = 'TM010';
  END IF;

  v_no_quote := CASE WHEN NOT m ? 'quoteAgeMs' THEN 'there is no quote' WHEN (m ->> 'quoteAgeMs')::bigint > b.quote_age
    THEN format('the quote is %s ms old, and may be %s', m ->> 'quoteAgeMs', b.quote_age) END;
  RETURN QUERY SELECT public.limit_reading(r.name, r.bound, r.why IS NOT NULL OR coalesce(r.broken, false), CASE WHEN r.why IS NULL THEN r.value END, r.why, CASE WHEN r.why IS NOT NULL THEN r.needs_quote END)
  FROM (VALUES
    (1, 'allowedSymbols', coalesce(b.allowed, b.any_allowed), b.allowed IS NOT NULL, CASE WHEN b.allowed IS NULL THEN m ->> 'underlyings' ELSE
      (SELECT u.symbol FROM jsonb_array_elements_text(m -> 'underlyings') AS u(symbol) WHERE NOT b.allowed::jsonb ? u.symbol LIMIT 1) END, NULL, NULL),
    (2, 'forbiddenSymbols', coalesce(b.forbidden, b.any_forbidden), b.forbidden IS NOT NULL, m ->> 'symbols', NULL, NULL),
    (3, 'instruments', coalesce(b.instruments, b.any_instruments), b.instruments IS NOT NULL, m ->> 'instrument', NULL, NULL),
    (4, 'maxQuantity', CASE WHEN m ? 'quantity' THEN b.quantity::text END, (m ->> 'quantity')::numeric > b.quantity, m ->> 'quantity', NULL, NULL),
    (5, 'collarPercent', CASE WHEN m ? 'deviationPercent' THEN b.collar::text END, (m ->> 'deviationPercent')::numeric > b.collar, m ->> 'deviationPercent',
      CASE WHEN v_no_quote IS NOT NULL OR m ->> 'deviationPercent' IS NULL THEN coalesce(m ->> 'notCompared', v_no_quote, 'there is no quote') END, NOT m ? 'notCompared')
  ) AS r(place, name, bound, broken, value, why, needs_quote)
  WHERE r.bound IS NOT NULL AND (p_all OR r.why IS NOT NULL OR r.broken) ORDER BY r.place;
  IF FOUND AND NOT p_all THEN
    RETURN;
  END IF;
  -- Without a value nothing is compared: SQL would let a NULL pass.
  v_no_quote := CASE WHEN v_by_quote THEN coalesce(v_no_quote, CASE WHEN m ->> 'exposure' IS NULL THEN 'a side of the quote is missing' END)
    WHEN m ->> 'exposure' IS NULL THEN coalesce(m ->> 'notValued', 'the order has no price') END;
  IF b.notional IS NOT NULL AND m ? 'notional' AND (p_all OR v_no_quote IS NOT NULL OR (m ->> 'notional')::numeric > b.notional) THEN
    RETURN NEXT public.limit_reading('maxNotional', b.notional::text, v_no_quote IS NOT NULL OR (m ->> 'notional')::numeric > b.notional,
      CASE WHEN v_no_quote IS NULL THEN m ->> 'notional' END, v_no_quote, CASE WHEN v_no_quote IS NOT NULL THEN v_by_quote END);
    IF NOT p_all THEN
      RETURN;
    END IF;
  END IF;

  IF num_nonnulls(b.rate, b.own_rate, b.same_within, b.own_same_within, b.open_orders, b.symbol_exposure, b.account_exposure) = 0 THEN
    RETURN;
  END IF;
  IF NOT p_all THEN
    PERFORM pg_advisory_xact_lock(hashtext('tidemark limits'), hashtext(v_account));
  END IF;

  IF least(b.rate, b.own_rate) IS NOT NULL THEN
    SELECT count(*) INTO v_count FROM public.journal c
    WHERE c.kind = 'opening' AND c.account_id = v_account AND c.at > v_at - interval '1 minute' AND c.request_kind <> 'cancel';
    IF b.own_rate IS NOT NULL AND (p_all OR v_count >= b.own_rate) THEN
      SELECT count(*) INTO v_own FROM public.journal c
      WHERE c.kind = 'opening' AND c.account_id = v_account AND c.at > v_at - interval '1 minute' AND c.request_kind <> 'cancel' AND c.principal = v_principal;
    END IF;
    RETURN QUERY SELECT public.limit_reading('ordersPerMinute', r.bound::text, coalesce(r.before >= r.bound, false), (r.before + 1)::text)
    FROM (VALUES (1, b.rate, v_count), (2, b.own_rate, v_own)) AS r(place, bound, before)
    WHERE r.bound IS NOT NULL AND (p_all OR r.before >= r.bound) ORDER BY r.place;
    IF FOUND AND NOT p_all THEN
      RETURN;
    END IF;
  END IF;
  -- The command that it supersedes is presumed absent, and a command that placed nothing is no duplicate.
  IF v_kind = 'place' AND greatest(b.same_within, b.own_same_within) IS NOT NULL THEN
    SELECT c.command_id INTO v_same FROM public.commands c
    WHERE c.account_id = v_account AND c.kind = 'place' AND c.stream = p -> 'request' ->> 'stream'
      AND (c.symbol = p -> 'request' -> 'terms' ->> 'symbol'
        OR c.stream <> 'prediction' AND public.symbol_letters(c.symbol) = public.symbol_letters(p -> 'request' -> 'terms' ->> 'symbol'))
      AND c.state NOT IN ('not_sent', 'refused')
      AND c.command_id IS DISTINCT FROM (p ->> 'supersedes')::uuid
      AND jsonb_set(c.request::jsonb, '{terms,symbol}', '""') = jsonb_set((p -> 'request')::jsonb, '{terms,symbol}', '""')
      AND (c.created_at > v_at - b.same_within * interval '1 ms' OR c.principal = v_principal AND c.created_at > v_at - b.own_same_within * interval '1 ms')
      AND c.created_at > v_at - greatest(b.same_within, b.own_same_within) * interval '1 ms'
    ORDER BY c.created_at DESC LIMIT 1;
    IF p_all OR v_same IS NOT NULL THEN
      RETURN NEXT public.limit_reading('duplicateWindowMs', greatest(b.same_within, b.own_same_within)::text, v_same IS NOT NULL, 'the same as command ' || v_same);
      IF NOT p_all THEN
        RETURN;
      END IF;
    END IF;
  END IF;
  IF v_kind = 'place' AND b.open_orders IS NOT NULL THEN
    SELECT 1 + (SELECT count(*) FROM unnest(public.streams()) AS k(stream)
        JOIN public.orders o ON o.account_id = v_account AND o.stream = k.stream AND o.is_open)
      + (SELECT count(*) FROM public.open_commands c JOIN public.journal m ON m.command_id = c.command_id AND m.number = 1 AND m.request_kind = 'place'
        WHERE c.account_id = v_account AND c.standing <> 'resolved'
        AND NOT EXISTS (SELECT FROM public.order_bindings ob WHERE ob.command_id = c.command_id AND ob.matches)) INTO v_count;
    IF p_all OR v_count > b.open_orders THEN
      RETURN NEXT public.limit_reading('maxOpenOrders', b.open_orders::text, v_count > b.open_orders, v_count::text);
      IF NOT p_all THEN
        RETURN;
      END IF;
    END IF;
  END IF;
  -- A replace that adds nothing passes, however much is at work.
  IF num_nonnulls(b.symbol_exposure, b.account_exposure) = 0 OR (m ->> 'exposure')::numeric = 0 THEN
    RETURN;
  END IF;
  RETURN QUERY SELECT public.limit_reading(of.name, of.bound::text, w.why IS NOT NULL OR coalesce(x.amount > of.bound, false),
    CASE WHEN w.why IS NULL THEN trim_scale(x.amount)::text END, w.why, CASE WHEN w.at = 2 THEN v_by_quote END)
  FROM (VALUES (1, 'maxSymbolExposure', b.symbol_exposure, v_symbol), (2, 'maxAccountExposure', b.account_exposure, NULL)) AS of(place, name, bound, symbol)
  CROSS JOIN LATERAL (SELECT e.unvalued, e.amount + (m ->> 'exposure')::numeric FROM public.exposure_of(v_account, of.symbol) AS e) AS x(unvalued, amount)
  CROSS JOIN LATERAL (SELECT CASE WHEN of.place = 1 AND jsonb_array_length(m -> 'underlyings') > 1 THEN 1 WHEN v_no_quote IS NOT NULL THEN 2
    WHEN x.unvalued IS NOT NULL THEN 3 END) AS c(at)
  CROSS JOIN LATERAL (SELECT c.at, CASE c.at WHEN 1 THEN 'its legs are of several underlyings: ' || (m ->> 'underlyings') WHEN 2 THEN v_no_quote
    WHEN 3 THEN format('the value of %s is not known', x.unvalued) END) AS w(at, why)
  WHERE of.bound IS NOT NULL AND (p_all OR w.why IS NOT NULL OR x.amount > of.bound) ORDER BY of.place;
END
$$;

-- The limit that a place or a replace breaks, or null. Limits that count commands and orders are judged by one transaction of an account at a time, to its end: so two
-- commands at once cannot both use the last free place.
CREATE FUNCTION public.judge_limits(p json) RETURNS json
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  SELECT (w::jsonb - 'broken')::json FROM public.weigh_limits(p, false) AS w LIMIT 1
$$;

-- A transaction that forbids something (a halt, new limits, the end of a token) calls this. It waits for the openings as sending and the marks that are under way. Later openings begin PREPARED,
-- and the later marks wait for the commit and then see it. So nothing is marked as being sent after what forbids it was committed.
CREATE FUNCTION public.close_sending() RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  SELECT pg_advisory_xact_lock(hashtext('tidemark sending'), 0)
$$;

-- The shared side of it, to the end of the transaction. False: something that forbids is being written, or waits until it can be. A transaction that has a lock for which
-- others may wait asks in this way (see "The order of locks").
CREATE FUNCTION public.try_sending() RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN pg_try_advisory_xact_lock_shared(hashtext('tidemark sending'), 0);
END
$$;

-- Sets the bounds of one scope, with its line of the audit trail, unless they have changed since the change was decided. `p` is a LimitsChange
-- (store/commands/command-journal.ts). Returns the id of that line. Null: they have changed, and nothing was written.
CREATE FUNCTION public.change_limits(p json) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v public.limits;
  v_before jsonb := p -> 'before';
  v_bounds jsonb := p -> 'bounds';
  v_at timestamptz := public.ms_to_time((p ->> 'atMs')::double precision);
  v_line bigint;
BEGIN
  SELECT * INTO v FROM public.limits
  WHERE coalesce(principal, '') = coalesce(p ->> 'principal', '') AND coalesce(account_id, '') = coalesce(p ->> 'accountId', '') FOR UPDATE;
  IF coalesce(v.bounds, '{}') <> v_before THEN
    RETURN NULL;
  END IF;
  PERFORM public.close_sending();
  IF v_bounds = '{}' THEN
    DELETE FROM public.limits WHERE limits_id = v.limits_id;
  ELSIF v.limits_id IS NOT NULL THEN
    UPDATE public.limits SET bounds = v_bounds, changed_by = p ->> 'by', reason = p ->> 'reason', changed_at = v_at, change = DEFAULT
    WHERE limits_id = v.limits_id;
  ELSE
    INSERT INTO public.limits (principal, account_id, bounds, changed_by, reason, changed_at)
    VALUES (p ->> 'principal', p ->> 'accountId', v_bounds, p ->> 'by', p ->> 'reason', v_at)
    ON CONFLICT (coalesce(principal, ''), coalesce(account_id, '')) DO NOTHING;
    IF NOT FOUND THEN
      RETURN NULL;
    END IF;
  END IF;
  INSERT INTO public.audit_log (at, principal, action, account_id, request_id, reason, detail)
  VALUES (v_at, p ->> 'by', 'change_limits', p ->> 'accountId', p ->> 'requestId', p ->> 'reason',
    json_strip_nulls(json_build_object('of', p ->> 'principal', 'approvedBy', p ->> 'approvedBy', 'before', v_before, 'after', v_bounds)))
  RETURNING id INTO v_line;
  RETURN v_line;
END
$$;
