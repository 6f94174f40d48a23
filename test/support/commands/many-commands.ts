/**
 * SQL that writes many commands at once: their openings, a step where they went on, and those that
 * are not final. `from`: a query with command_id, principal, idempotency_key, kind, stream,
 * account_id, symbol, side, request (json), caller_ref, state, order_id and created_at.
 */
export function manyCommands(from: string): string {
  const final = "('refused', 'not_sent', 'applied', 'rejected', 'moot')";
  return `with c as materialized (select *, row_number() over () as place from (${from}) as asked), opened as (
      insert into journal (shard, epoch, seq, command_id, number, version, kind, state, attempt, attempt_state, attempt_id, order_id, at, body, principal, idempotency_key,
        key_held, request_kind, stream, account_id, symbol, side, caller_ref, limits_change)
      select 0, 1, 2 * place, command_id, 1, 1, 'opening', 'open', 1, 'sending', 'tm-' || command_id, order_id, created_at,
        json_build_object('requestHash', 'h', 'request', request, 'deadlineAtMs', 0, 'attempts', json_build_array(json_build_array('sending', 0)))::text,
        principal, idempotency_key, true, kind, stream, account_id, symbol, side, caller_ref, 0 from c
    ), stepped as (
      insert into journal (shard, epoch, seq, command_id, number, version, kind, from_state, state, attempt, attempt_from, attempt_state, order_id, at, resolved_at, body)
      select 0, 1, 2 * place + 1, command_id, 2, 2, 'step', 'open', state, 1, 'sending', 'accepted', order_id, created_at, case when state in ${final} then created_at end,
        json_build_object('attempts', json_build_array(json_build_array('accepted', 0, 0)))::text from c where state <> 'open'
    )
    insert into open_commands (account_id, command_id, shard, standing)
    select account_id, command_id, 0, case when state in ('unknown', 'conflict') then 'doubtful' else 'open' end from c where state not in ${final}`;
}
