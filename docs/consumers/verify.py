"""Says whether the topics have every update that Tidemark committed, by the proofs on the watermark topic, without a question to Tidemark.

    pip install confluent-kafka && KAFKA_BROKERS=127.0.0.1:9092 SINCE=2026-11-21T14:00:00Z python3 verify.py

`Verifier` is the whole rule: to prove your own consumer, give it the values that your consumer took. docs/consuming.md, "Proof", gives the reasons.
"""

import hashlib
import json
import os
import sys
import time
import uuid
from datetime import datetime

from confluent_kafka import Consumer, KafkaException, TopicPartition


class Verifier:
    def __init__(self) -> None:
        # By lane and generation, then by batch: the hash of each update, by its order and revision, so that a repeat counts once.
        self.open: dict[tuple[int, int], dict[int, dict[tuple, int]]] = {}
        self.reached: dict[int, dict] = {}

    def update(self, value: bytes) -> None:
        """Each value of the updates topic. Raises at one that is not from Tidemark, as `mark` does."""
        update = json.loads(value)
        if update["schema"] != "tidemark.order-update.v1":
            raise ValueError("no update")
        if "batch" not in update:
            return
        lane, generation, batch = update["lane"], update["generation"], int(update["batch"])
        if self._is_proven(lane, generation, batch):
            return
        updates = self.open.setdefault((lane, generation), {}).setdefault(batch, {})
        name = (update["stream"], update["orderId"], update["revision"])
        updates.setdefault(name, int.from_bytes(hashlib.sha256(value).digest()[:6], "big"))

    def mark(self, value: bytes) -> list[str]:
        """Each value of the watermark topic, after all updates that were sent before it. Returns the holes that it shows."""
        mark = json.loads(value)
        if mark["schema"] != "tidemark.watermarks.v1":
            raise ValueError("no mark")
        proof, at = mark.get("proof"), mark.get("at")
        if proof is None:
            return []
        lane, generation, after, up_to = proof["lane"], proof["generation"], int(proof["after"]), int(proof["upTo"])
        if self._is_proven(lane, generation, up_to):
            return []
        count, found = self._take((lane, generation), after, up_to)
        last = self.reached.get(lane)
        holes = []
        if last is not None and last["generation"] != generation:
            holes.append(f"generation {generation} begins, and no proof says how generation {last['generation']} ended")
            self.open.pop((lane, last["generation"]), None)
        elif last is not None and after != last["up_to"]:
            holes.append(f"no proof of batches {last['up_to'] + 1} to {after}")
        batches = f"batches {after + 1} to {up_to}"
        if last is not None and count != proof["count"]:
            holes.append(f"{batches}: {count} of {proof['count']} updates")
        elif last is not None and found != proof["hash"]:
            holes.append(f"{batches}: other content")
        whole = last is not None and not holes
        since, updates = (last["since"], last["updates"] + count) if whole else (at, 0)
        self.reached[lane] = {"generation": generation, "up_to": up_to, "at": at, "since": since, "updates": updates}
        return [f"lane {lane}: HOLE from {last['at']} to {at}: {hole}" for hole in holes]

    def complete(self) -> list[str]:
        """Up to where all updates are here, a line for each lane."""
        return [
            f"lane {lane}: complete from {to['since']} to {to['at']}: {to['updates']} updates"
            for lane, to in self.reached.items()
        ]

    def _is_proven(self, lane: int, generation: int, batch: int) -> bool:
        last = self.reached.get(lane)
        return last is not None and (generation, batch) <= (last["generation"], last["up_to"])

    def _take(self, name: tuple[int, int], after: int, up_to: int) -> tuple[int, str]:
        batches = self.open.get(name, {})
        taken = [(batch, batches.pop(batch)) for batch in list(batches) if batch <= up_to]
        hashes = [each for batch, updates in taken if batch > after for each in updates.values()]
        return len(hashes), format(sum(hashes) % 2**48, "012x")


PREFIX = os.environ.get("TOPIC_PREFIX", "")
MARKS = PREFIX + "tidemark.watermarks.v1"
UPDATES = PREFIX + "tidemark.order-updates.v1"
PATIENCE_S = 30


def parts_of(consumer: Consumer, since_ms: int) -> tuple[list[TopicPartition], dict[tuple[str, int], int]]:
    """Both topics from `since_ms` to their present ends. That of the watermark topic is asked for first: all updates before a mark were sent before it."""
    starts, ends = [], {}
    # The first mark is of a batch whose updates may have been sent before it.
    for topic, from_ms in ((MARKS, since_ms), (UPDATES, since_ms - 60_000)):
        parts = [TopicPartition(topic, p, from_ms) for p in consumer.list_topics(topic, timeout=PATIENCE_S).topics[topic].partitions]
        high = {part.partition: consumer.get_watermark_offsets(part, timeout=PATIENCE_S)[1] for part in parts}
        for start in consumer.offsets_for_times(parts, timeout=PATIENCE_S):
            if 0 <= start.offset < high[start.partition]:
                starts.append(start)
                ends[(topic, start.partition)] = high[start.partition]
    return starts, ends


def known(work, message) -> list[str]:
    """A record of another program proves nothing, and hides nothing."""
    try:
        return work(message.value() or b"") or []
    except (ValueError, KeyError, TypeError, AttributeError):
        where = f"{message.topic()}, partition {message.partition()}, offset {message.offset()}"
        print(f"passed over a record that is not from Tidemark: {where}", file=sys.stderr)
        return []


def main() -> int:
    since = os.environ.get("SINCE")
    since_ms = (datetime.fromisoformat(since.replace("Z", "+00:00")).timestamp() if since else time.time() - 3600) * 1000
    brokers = os.environ.get("KAFKA_BROKERS", "127.0.0.1:9092")
    consumer = Consumer({"bootstrap.servers": brokers, "group.id": f"verify-{uuid.uuid4()}", "enable.auto.commit": False})
    verifier, marks = Verifier(), []
    starts, ends = parts_of(consumer, int(since_ms))
    consumer.assign(starts)
    while ends:
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error():
            raise KafkaException(message.error())
        part = (message.topic(), message.partition())
        if part not in ends:
            continue
        if message.topic() == MARKS:
            marks.append(message)
        else:
            known(verifier.update, message)
        if message.offset() >= ends[part] - 1:
            del ends[part]
    consumer.close()
    holes = [hole for message in marks for hole in known(verifier.mark, message)]
    lines = holes + verifier.complete()
    if not lines:
        print("no proof since then: nothing was verified", file=sys.stderr)
        # As that of a program that failed.
        return 1
    print("\n".join(lines))
    return 2 if holes else 0


if __name__ == "__main__":
    sys.exit(main())
