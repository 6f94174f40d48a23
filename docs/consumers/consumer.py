"""A whole consumer of Tidemark's topics: starts from nothing by the state topic, then takes each accepted change exactly once, over restarts, kills and
repeats. What it keeps is one SQLite file; put your own effects into the transaction of `take`, and they happen once as well. Records that wait are taken together,
at most 10,000 in one transaction: a commit waits for the disk, whatever it holds.

    pip install confluent-kafka && KAFKA_BROKERS=127.0.0.1:9092 python3 consumer.py

docs/consuming.md gives the reasons for each step.
"""

import json
import os
import signal
import sqlite3
import sys
import uuid

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition

BROKERS = os.environ.get("KAFKA_BROKERS", "127.0.0.1:9092")
PREFIX = os.environ.get("TOPIC_PREFIX", "")
GROUP = os.environ.get("GROUP_ID", "my-service")
UPDATES = PREFIX + "tidemark.order-updates.v1"
STATE = PREFIX + "tidemark.order-state.v1"
PATIENCE_S = 30
MOST = 10_000

database = sqlite3.connect(os.environ.get("STATE_FILE", "orders.sqlite"), isolation_level=None)
database.execute("pragma journal_mode = wal")
database.execute(
    "create table if not exists orders"
    " (key text primary key, generation integer, revision integer, status text, cum_qty text, record text, partition integer)"
)
# A file of an earlier version lacks it: an order there has none until its next change, and is named at each start from nothing.
if database.execute("select 1 from pragma_table_info('orders') where name = 'partition'").fetchone() is None:
    database.execute("alter table orders add column partition integer")
# The next offset of each partition of the updates topic, kept with the orders: what the group has committed says nothing about what this file has.
database.execute("create table if not exists positions (partition integer primary key, next integer)")
database.execute("create temp table shown (key text primary key)")


def update_of(message: Message) -> dict | None:
    """None for what Tidemark never writes: a tombstone, or a record of another program. What is kept of the order stays; `tidemark verify` finds such records."""
    try:
        update = json.loads(message.value() or b"")
        if update["schema"] == "tidemark.order-update.v1" and isinstance(update["order"]["status"], str):
            return update
    except (ValueError, KeyError, TypeError):
        pass
    where = f"{message.topic()} {message.partition()} {message.offset()}"
    print(f"{where}: passed over a record that is no update", file=sys.stderr, flush=True)
    return None


def keep_position(partition: int, after: int) -> None:
    database.execute("insert or replace into positions values (?, ?)", (partition, after))


# What is said once the transaction that holds it is committed, and the messages that the group may then forget, by partition.
said: list[str] = []
lost: list[str] = []
taken: dict[int, Message] = {}
records = 0


def begin() -> None:
    global records
    if not database.in_transaction:
        database.execute("begin immediate")
    records += 1


def commit(consumer: Consumer | None = None) -> None:
    """Nothing is said or stored before this. A process that is killed earlier begins again behind the transaction before, and finds nothing of this one."""
    global records
    if database.in_transaction:
        database.execute("commit")
    records = 0
    for lines, file in ((lost, sys.stderr), (said, sys.stdout)):
        if lines:
            print("\n".join(lines), file=file, flush=True)
            lines.clear()
    # For those who watch the group; after a restart we go on from our own positions.
    for message in taken.values() if consumer is not None else ():
        consumer.store_offsets(message)
    taken.clear()


def take(update: dict, message: Message, source: str) -> None:
    """The one rule: what is not above the (generation, revision) that is kept is a repeat."""
    key = f"{update['stream']}:{update['orderId']}"
    version = (update["generation"], update["revision"])
    order = update["order"]
    begin()
    last = database.execute("select generation, revision from orders where key = ?", (key,)).fetchone()
    is_new = last is None or version > last
    if is_new:
        row = (key, *version, order["status"], order["cumQty"], message.value().decode(), message.partition())
        database.execute("insert or replace into orders values (?, ?, ?, ?, ?, ?, ?)", row)
    if source == "state":
        database.execute("insert or ignore into shown values (?)", (key,))
    else:
        keep_position(message.partition(), message.offset() + 1)
    if not is_new or source == "state":
        return
    if last is None:
        expected = 1
    else:
        expected = last[1] + 1 if last[0] == version[0] else version[1]
    if version[1] > expected:
        lost.append(f"{key}: lost {expected} to {version[1] - 1}")
    # Decimals are text: Decimal(order["cumQty"]), never float.
    said.append(f"{key} {version[0]}.{version[1]} {order['status']} {order['cumQty']}")


def client(group: str, isolation: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": BROKERS,
            "group.id": group,
            "isolation.level": isolation,
            # After a kill nobody reads until the group has given the dead member up: by default 45 s.
            "session.timeout.ms": 10_000,
            # Committed in the background, but only what `take` is done with.
            "enable.auto.offset.store": False,
            # Never elsewhere without a word: an order that ended in what was deleted would stay open here for ever.
            "auto.offset.reset": "error",
            # A start from nothing takes as long as the state topic is.
            "max.poll.interval.ms": 3_600_000,
            "enable.partition.eof": isolation == "read_committed",
        }
    )


def partitions_of(consumer: Consumer, topic: str) -> list[int]:
    found = consumer.list_topics(topic, timeout=PATIENCE_S).topics[topic]
    if found.error is not None:
        raise KafkaException(found.error)
    return sorted(found.partitions)


def offsets_of(consumer: Consumer, topic: str) -> dict[int, tuple[int, int]]:
    """Beginning and end of each partition. The end is that of everything only for a client that reads uncommitted: the others are told that of what is committed, and
    a transaction may still be on its way there."""
    return {
        partition: consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=PATIENCE_S)
        for partition in partitions_of(consumer, topic)
    }


def read_state(partitions: list[int]) -> None:
    """Reads these partitions of the state topic to their ends. They may be behind the updates topic, which is read from its beginning after them. A key has one
    partition number on both topics, and the other partitions go on from their own positions: beside their state, the changes that they have still to bring would
    be repeats."""
    database.execute("delete from shown")
    name = f"{GROUP}-bootstrap-{uuid.uuid4()}"
    looking, reading = client(name, "read_uncommitted"), client(name, "read_committed")
    offsets = {partition: edges for partition, edges in offsets_of(looking, STATE).items() if partition in partitions}
    reading.assign([TopicPartition(STATE, partition, OFFSET_BEGINNING) for partition in offsets])
    reached = {partition: begin for partition, (begin, _) in offsets.items()}
    while any(reached[partition] < end for partition, (_, end) in offsets.items()):
        message = reading.poll(0 if database.in_transaction else 1)
        if message is None:
            commit()
            continue
        if message.error() and message.error().code() == KafkaError._PARTITION_EOF:
            # Tells where it stands also behind the markers of transactions, which no message shows.
            reached[message.partition()] = max(reached[message.partition()], message.offset())
            continue
        if message.error():
            raise KafkaException(message.error())
        reached[message.partition()] = message.offset() + 1
        update = update_of(message)
        if update is not None:
            take(update, message, "state")
        if records >= MOST:
            commit()
    commit()
    reading.close()
    looking.close()


def settle(consumer: Consumer, partitions: list[int], lost: list[int]) -> list[TopicPartition]:
    """Where to read the partitions. Those start from nothing whose position is not on the topic: none is kept, what follows it was deleted unread, or the topic was
    made anew; `lost` are known to be such. No clock is asked: whatever the state topic lacks is behind the beginning that the updates topic had before the state
    was read."""
    offsets = offsets_of(consumer, UPDATES)
    kept = dict(database.execute("select partition, next from positions").fetchall())

    def is_outside(partition: int) -> bool:
        begin, end = offsets[partition]
        return partition in lost or not begin <= kept.get(partition, -1) <= end

    outside = [partition for partition in partitions if is_outside(partition)]
    if outside:
        if kept:
            listed = ", ".join(map(str, outside))
            print(f"{UPDATES}: partitions {listed} begin again from the state topic", file=sys.stderr, flush=True)
        read_state(outside)
        for partition in outside:
            kept[partition] = offsets[partition][0]
            keep_position(partition, kept[partition])
        # Younger than the state topic, or of a database that the service no longer has: ask REST about those that stay.
        unshown = database.execute(
            "select key, status, partition from orders where key not in (select key from shown)"
            " and status not in ('filled', 'canceled', 'rejected', 'expired', 'replaced')"
        )
        for key, status, partition in unshown.fetchall():
            if partition is None or partition in outside:
                print(f"{key}: kept as {status}, and the state topic does not show it", file=sys.stderr, flush=True)
    return [TopicPartition(UPDATES, partition, kept[partition]) for partition in partitions]


def main() -> None:
    consumer = client(GROUP, "read_uncommitted")
    assigned: list[int] = []

    # Both are called within `poll`, between two records of one transaction.
    def on_revoke(_: Consumer, __: list[TopicPartition]) -> None:
        commit(consumer)

    def on_assign(_: Consumer, partitions: list[TopicPartition]) -> None:
        commit(consumer)
        assigned[:] = [each.partition for each in partitions]
        # Kafka forgets the group's offsets with the topic: where it has none, and we have a position, the topic was made anew.
        wanted = [TopicPartition(UPDATES, partition) for partition in assigned]
        lost = [each.partition for each in consumer.committed(wanted, timeout=PATIENCE_S) if each.offset < 0]
        go_on(settle(consumer, assigned, lost))

    def go_on(positions: list[TopicPartition]) -> None:
        consumer.assign(positions)
        if positions:
            consumer.commit(offsets=positions)

    consumer.subscribe([UPDATES], on_assign=on_assign, on_revoke=on_revoke)
    running = True

    def stop(*_: object) -> None:
        nonlocal running
        running = False

    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, stop)
    while running:
        message = consumer.poll(0 if database.in_transaction else 0.5)
        if message is None:
            commit(consumer)
            continue
        if message.error() and message.error().code() == KafkaError._AUTO_OFFSET_RESET:
            commit(consumer)
            # Our position is not on the topic any more: it began again behind it while we ran, or was made anew.
            go_on(settle(consumer, assigned, [message.partition()]))
            continue
        if message.error():
            raise KafkaException(message.error())
        update = update_of(message)
        if update is not None:
            take(update, message, "updates")
        else:
            begin()
            keep_position(message.partition(), message.offset() + 1)
        taken[message.partition()] = message
        if records >= MOST:
            commit(consumer)
    commit(consumer)
    consumer.close()


if __name__ == "__main__":
    main()
