import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Says whether the topics have every update that Tidemark committed, by the proofs on the watermark topic, without a question to Tidemark.
 *
 *   mvn -f pom.xml dependency:copy-dependencies -DoutputDirectory=lib
 *   KAFKA_BROKERS=127.0.0.1:9092 SINCE=2026-11-21T14:00:00Z java -cp 'lib/*' Verify.java
 *
 * `Verifier` is the whole rule: to prove your own consumer, give it the values that your consumer took. docs/consuming.md, "Proof", gives the reasons.
 */
public class Verify {
  public static class Verifier {
    private record Lane(int lane, int generation) {}

    private record Reached(int generation, long upTo, String at, String since, long updates) {}

    private static final long MODULUS = 1L << 48;
    private final ObjectMapper json = new ObjectMapper();
    /** By lane and generation, then by batch: the hash of each update, by its order and revision, so that a repeat counts once. */
    private final Map<Lane, TreeMap<Long, Map<String, Long>>> open = new HashMap<>();
    private final Map<Integer, Reached> reached = new TreeMap<>();

    /** Each value of the updates topic. Throws at one that is not from Tidemark, as `mark` does. */
    public void update(byte[] value) throws Exception {
      JsonNode update = json.readTree(value);
      if (!update.path("schema").asText().equals("tidemark.order-update.v1")) throw new IllegalArgumentException("no update");
      if (!update.hasNonNull("batch")) return;
      int lane = update.required("lane").asInt();
      int generation = update.required("generation").asInt();
      long batch = Long.parseLong(update.get("batch").asText());
      if (isProven(lane, generation, batch)) return;
      String name = update.required("stream").asText() + ":" + update.required("orderId").asText() + " " + update.required("revision").asLong();
      open.computeIfAbsent(new Lane(lane, generation), any -> new TreeMap<>()).computeIfAbsent(batch, any -> new HashMap<>()).putIfAbsent(name, hash(value));
    }

    /** Each value of the watermark topic, after all updates that were sent before it. Returns the holes that it shows. */
    public List<String> mark(byte[] value) throws Exception {
      JsonNode mark = json.readTree(value);
      if (!mark.path("schema").asText().equals("tidemark.watermarks.v1")) throw new IllegalArgumentException("no mark");
      if (!mark.hasNonNull("proof")) return List.of();
      JsonNode proof = mark.get("proof");
      String at = mark.required("at").asText();
      int lane = proof.required("lane").asInt();
      int generation = proof.required("generation").asInt();
      long after = Long.parseLong(proof.required("after").asText());
      long upTo = Long.parseLong(proof.required("upTo").asText());
      if (isProven(lane, generation, upTo)) return List.of();
      Reached last = reached.get(lane);
      List<String> holes = new ArrayList<>();
      if (last != null && last.generation != generation) {
        holes.add("generation " + generation + " begins, and no proof says how generation " + last.generation + " ended");
        open.remove(new Lane(lane, last.generation));
      } else if (last != null && after != last.upTo) holes.add("no proof of batches " + (last.upTo + 1) + " to " + after);
      var below = open.computeIfAbsent(new Lane(lane, generation), any -> new TreeMap<>()).headMap(upTo, true);
      List<Long> hashes = below.tailMap(after, false).values().stream().flatMap(updates -> updates.values().stream()).toList();
      String sum = String.format("%012x", hashes.stream().reduce(0L, (total, each) -> (total + each) % MODULUS));
      below.clear();
      long count = proof.required("count").asLong();
      String batches = "batches " + (after + 1) + " to " + upTo;
      if (last != null && hashes.size() != count) holes.add(batches + ": " + hashes.size() + " of " + count + " updates");
      else if (last != null && !sum.equals(proof.required("hash").asText())) holes.add(batches + ": other content");
      boolean whole = last != null && holes.isEmpty();
      reached.put(lane, new Reached(generation, upTo, at, whole ? last.since : at, whole ? last.updates + count : 0));
      return holes.stream().map(hole -> "lane " + lane + ": HOLE from " + last.at + " to " + at + ": " + hole).toList();
    }

    /** Up to where all updates are here, a line for each lane. */
    public List<String> complete() {
      return reached.entrySet().stream()
          .map(each -> "lane " + each.getKey() + ": complete from " + each.getValue().since + " to " + each.getValue().at + ": " + each.getValue().updates + " updates")
          .toList();
    }

    private boolean isProven(int lane, int generation, long batch) {
      Reached last = reached.get(lane);
      return last != null && (generation < last.generation || (generation == last.generation && batch <= last.upTo));
    }

    private static long hash(byte[] value) throws Exception {
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(value);
      long first = 0;
      for (int i = 0; i < 6; i++) first = first << 8 | digest[i] & 0xff;
      return first;
    }
  }

  private static final String PREFIX = System.getenv().getOrDefault("TOPIC_PREFIX", "");
  private static final String MARKS = PREFIX + "tidemark.watermarks.v1";
  private static final String UPDATES = PREFIX + "tidemark.order-updates.v1";

  public static void main(String[] arguments) throws Exception {
    String since = System.getenv("SINCE");
    long sinceMs = since == null ? System.currentTimeMillis() - 3_600_000 : Instant.parse(since).toEpochMilli();
    Map<String, Object> settings = Map.of("bootstrap.servers", System.getenv().getOrDefault("KAFKA_BROKERS", "127.0.0.1:9092"));
    Verifier verifier = new Verifier();
    List<ConsumerRecord<byte[], byte[]>> marks = new ArrayList<>();
    try (var consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
      Map<TopicPartition, Long> ends = start(consumer, sinceMs);
      while (ends.entrySet().stream().anyMatch(end -> consumer.position(end.getKey()) < end.getValue())) {
        for (var record : consumer.poll(Duration.ofSeconds(1))) {
          Long end = ends.get(new TopicPartition(record.topic(), record.partition()));
          if (end == null || record.offset() >= end) continue;
          if (record.topic().equals(MARKS)) marks.add(record);
          else known(record, () -> verifier.update(valueOf(record)));
        }
      }
    }
    List<String> holes = new ArrayList<>();
    for (var mark : marks) known(mark, () -> holes.addAll(verifier.mark(valueOf(mark))));
    List<String> complete = verifier.complete();
    holes.forEach(System.out::println);
    complete.forEach(System.out::println);
    boolean nothing = holes.isEmpty() && complete.isEmpty();
    if (nothing) System.err.println("no proof since then: nothing was verified");
    // 1 is that of a program that failed, and that of one that verified nothing.
    System.exit(nothing ? 1 : holes.isEmpty() ? 0 : 2);
  }

  /** Both topics from `sinceMs` to their present ends. That of the watermark topic is asked for first: all updates before a mark were sent before it. */
  private static Map<TopicPartition, Long> start(KafkaConsumer<byte[], byte[]> consumer, long sinceMs) {
    Map<TopicPartition, Long> starts = new HashMap<>();
    Map<TopicPartition, Long> ends = new HashMap<>();
    for (String topic : List.of(MARKS, UPDATES)) {
      // The first mark is of a batch whose updates may have been sent before it.
      long fromMs = topic.equals(UPDATES) ? sinceMs - 60_000 : sinceMs;
      Map<TopicPartition, Long> wanted = new HashMap<>();
      consumer.partitionsFor(topic).forEach(part -> wanted.put(new TopicPartition(topic, part.partition()), fromMs));
      ends.putAll(consumer.endOffsets(wanted.keySet()));
      consumer.offsetsForTimes(wanted).forEach((part, found) -> starts.put(part, found == null ? ends.get(part) : found.offset()));
    }
    consumer.assign(starts.keySet());
    starts.forEach(consumer::seek);
    return ends;
  }

  /** A tombstone is foreign too. */
  private static byte[] valueOf(ConsumerRecord<byte[], byte[]> record) {
    return record.value() == null ? new byte[0] : record.value();
  }

  private interface Work {
    void run() throws Exception;
  }

  /** A record of another program proves nothing, and hides nothing. */
  private static void known(ConsumerRecord<?, ?> record, Work work) {
    try {
      work.run();
    } catch (Exception foreign) {
      System.err.printf("passed over a record that is not from Tidemark: %s, partition %d, offset %d%n", record.topic(), record.partition(), record.offset());
    }
  }
}
