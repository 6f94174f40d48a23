"""A whole consumer of Tidemark's topics: starts from nothing by the state topic, then takes each accepted change exactly once, over restarts, kills and
repeats. What it keeps is one SQLite file; put your own effects into the transaction of `take`, and they happen once as well.

    pip install confluent-kafka && KAFKA_BROKERS=127.0.0.1:9092 python3 consumer.py

docs/consuming.md gives the reasons for each step.
"""

import json
import os
import signal
import sqlite3
import sys
import uuid
from datetime import datetime

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition

BROKERS = os.environ.get("KAFKA_BROKERS", "127.0.0.1:9092")
PREFIX = os.environ.get("TOPIC_PREFIX", "")
GROUP = os.environ.get("GROUP_ID", "my-service")
UPDATES = PREFIX + "tidemark.order-updates.v1"
STATE = PREFIX + "tidemark.order-state.v1"
# How far two clocks of the service's machines may be apart.
CLOCK_MARGIN_MS = 60_000
PATIENCE_S = 30

database = sqlite3.connect(os.environ.get("STATE_FILE", "orders.sqlite"), isolation_level=None)
database.execute("pragma journal_mode = wal")
database.execute(
    "create table if not exists orders"
    " (key text primary key, generation integer, revision integer, status text, cum_qty text, record text)"
)


def update_of(message: Message) -> dict | None:
    """None for what Tidemark never writes: a tombstone, or a record of another program. What is kept of the order stays; `tidemark audit` finds such records."""
    try:
        update = json.loads(message.value() or b"")
        if update["schema"] == "tidemark.order-update.v1" and isinstance(update["order"]["status"], str):
            return update
    except (ValueError, KeyError, TypeError):
        pass
    where = f"{message.topic()} {message.partition()} {message.offset()}"
    print(f"{where}: passed over a record that is no update", file=sys.stderr, flush=True)
    return None


def take(update: dict, text: bytes, source: str) -> None:
    """The one rule: what is not above the (generation, revision) that is kept is a repeat."""
    key = f"{update['stream']}:{update['orderId']}"
    version = (update["generation"], update["revision"])
    order = update["order"]
    database.execute("begin immediate")
    try:
        last = database.execute("select generation, revision from orders where key = ?", (key,)).fetchone()
        is_new = last is None or version > last
        if is_new:
            row = (key, *version, order["status"], order["cumQty"], text.decode())
            database.execute("insert or replace into orders values (?, ?, ?, ?, ?, ?)", row)
        database.execute("commit")
    except BaseException:
        if database.in_transaction:
            database.execute("rollback")
        raise
    if not is_new or source == "state":
        return
    if last is None:
        expected = 1
    else:
        expected = last[1] + 1 if last[0] == version[0] else version[1]
    if version[1] > expected:
        print(f"{key}: lost {expected} to {version[1] - 1}", file=sys.stderr, flush=True)
    # Decimals are text: Decimal(order["cumQty"]), never float.
    print(key, f"{version[0]}.{version[1]}", order["status"], order["cumQty"], flush=True)


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
            "auto.offset.reset": "earliest",
            "enable.partition.eof": isolation == "read_committed",
        }
    )


def partitions_of(consumer: Consumer, topic: str) -> list[int]:
    found = consumer.list_topics(topic, timeout=PATIENCE_S).topics[topic]
    if found.error is not None:
        raise KafkaException(found.error)
    return sorted(found.partitions)


def ends_of(consumer: Consumer, topic: str) -> dict[int, int]:
    """Only for a client that reads uncommitted: the others are told the end of what is committed, and a transaction may still be on its way there."""
    return {
        partition: consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=PATIENCE_S)[1]
        for partition in partitions_of(consumer, topic)
    }


def read_state() -> float | None:
    """Reads the state topic to its end, twice over: a flush of the writer may lie across partitions, and whatever belongs to one that the first pass saw is
    below the ends that are asked for after it. Returns how far the writer had certainly come: the newest `observedAt` of the first pass, in ms."""
    name = f"{GROUP}-bootstrap-{uuid.uuid4()}"
    looking, reading = client(name, "read_uncommitted"), client(name, "read_committed")
    first = ends_of(looking, STATE)
    reading.assign([TopicPartition(STATE, partition, OFFSET_BEGINNING) for partition in first])
    came_to = None
    reached = dict.fromkeys(first, 0)

    def read_to(ends: dict[int, int]) -> None:
        nonlocal came_to
        while any(reached[partition] < end for partition, end in ends.items()):
            message = reading.poll(1)
            if message is None:
                continue
            if message.error() and message.error().code() == KafkaError._PARTITION_EOF:
                # Tells where it stands also behind the markers of transactions, which no message shows.
                reached[message.partition()] = max(reached[message.partition()], message.offset())
                continue
            if message.error():
                raise KafkaException(message.error())
            reached[message.partition()] = message.offset() + 1
            update = update_of(message)
            if update is None:
                continue
            take(update, message.value(), "state")
            if message.offset() < first[message.partition()]:
                observed = update["observedAt"].replace("Z", "+00:00")
                came_to = max(came_to or 0, datetime.fromisoformat(observed).timestamp() * 1000)

    read_to(first)
    read_to(ends_of(looking, STATE))
    reading.close()
    looking.close()
    return came_to


def start_of(consumer: Consumer, came_to: float | None) -> list[TopicPartition]:
    """Where the updates topic has to be read from. A record's timestamp is when it was sent, so whatever the state topic lacks was sent after `came_to`."""
    # Asked for first: a partition without a record of that time is read from here, and nothing that arrives meanwhile is passed over.
    ends = ends_of(consumer, UPDATES)
    if came_to is None:
        return [TopicPartition(UPDATES, p, consumer.get_watermark_offsets(TopicPartition(UPDATES, p))[0]) for p in ends]
    wanted = [TopicPartition(UPDATES, partition, int(came_to) - CLOCK_MARGIN_MS) for partition in ends]
    found = consumer.offsets_for_times(wanted, timeout=PATIENCE_S)
    return [TopicPartition(UPDATES, p.partition, p.offset if p.offset >= 0 else ends[p.partition]) for p in found]


def main() -> None:
    consumer = client(GROUP, "read_uncommitted")
    everything = [TopicPartition(UPDATES, partition) for partition in partitions_of(consumer, UPDATES)]
    # Nothing is kept, or away for so long that the broker forgot the group's offsets: what is missing may be gone from the updates topic, and the state is there.
    is_empty = database.execute("select 1 from orders limit 1").fetchone() is None
    if is_empty or any(p.offset < 0 for p in consumer.committed(everything, timeout=PATIENCE_S)):
        consumer.commit(offsets=start_of(consumer, read_state()), asynchronous=False)
    consumer.subscribe([UPDATES])
    running = True

    def stop(*_: object) -> None:
        nonlocal running
        running = False

    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, stop)
    while running:
        message = consumer.poll(0.5)
        if message is None:
            continue
        if message.error():
            raise KafkaException(message.error())
        update = update_of(message)
        if update is not None:
            take(update, message.value(), "updates")
        # Behind the work, so a kill leads to repeats, which `take` drops.
        consumer.store_offsets(message)
    consumer.close()


if __name__ == "__main__":
    main()
