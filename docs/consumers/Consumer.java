import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * A whole consumer of Tidemark's topics: starts from nothing by the state topic, then takes each accepted change exactly once, over restarts, kills and
 * repeats. What it keeps is one SQLite file; put your own effects into the transaction of `take`, and they happen once as well.
 *
 *   mvn -f pom.xml dependency:copy-dependencies -DoutputDirectory=lib
 *   KAFKA_BROKERS=127.0.0.1:9092 java -cp 'lib/*' Consumer.java
 *
 * docs/consuming.md gives the reasons for each step.
 */
public class Consumer {
  private static final Map<String, String> ENV = System.getenv();
  private static final String PREFIX = ENV.getOrDefault("TOPIC_PREFIX", "");
  private static final String GROUP = ENV.getOrDefault("GROUP_ID", "my-service");
  private static final String UPDATES = PREFIX + "tidemark.order-updates.v1";
  private static final String STATE = PREFIX + "tidemark.order-state.v1";
  /** How far two clocks of the service's machines may be apart. */
  private static final long CLOCK_MARGIN_MS = 60_000;
  private static final Duration POLL = Duration.ofMillis(500);
  private static final ObjectMapper JSON = new ObjectMapper();

  private final Connection database = DriverManager.getConnection("jdbc:sqlite:" + ENV.getOrDefault("STATE_FILE", "orders.sqlite"));

  private Consumer() throws SQLException {
    try (var statement = database.createStatement()) {
      statement.execute("pragma journal_mode = wal");
      statement.execute("create table if not exists orders (key text primary key, generation integer, revision integer, status text, cum_qty text, record text)");
    }
    database.setAutoCommit(false);
  }

  private boolean isEmpty() throws SQLException {
    try (var statement = database.createStatement(); var rows = statement.executeQuery("select 1 from orders limit 1")) {
      return !rows.next();
    }
  }

  private record Version(int generation, long revision) {
    boolean isAbove(Version other) {
      return generation > other.generation || (generation == other.generation && revision > other.revision);
    }
  }

  /** Null for what Tidemark never writes: a tombstone, or a record of another program. What is kept of the order stays; `tidemark audit` finds such records. */
  private static JsonNode updateOf(ConsumerRecord<byte[], byte[]> record) {
    try {
      JsonNode update = JSON.readTree(record.value() == null ? new byte[0] : record.value());
      if (update.path("schema").asText().equals("tidemark.order-update.v1") && update.path("order").path("status").isTextual()) return update;
    } catch (IOException notJson) {
      // As any other foreign record.
    }
    System.err.println(record.topic() + " " + record.partition() + " " + record.offset() + ": passed over a record that is no update");
    return null;
  }

  /** The one rule: what is not above the (generation, revision) that is kept is a repeat. */
  private void take(JsonNode update, byte[] text, boolean fromState) throws SQLException {
    String key = update.get("stream").asText() + ":" + update.get("orderId").asText();
    Version version = new Version(update.get("generation").asInt(), update.get("revision").asLong());
    JsonNode order = update.get("order");
    Version last = null;
    try {
      try (var read = database.prepareStatement("select generation, revision from orders where key = ?")) {
        read.setString(1, key);
        var row = read.executeQuery();
        if (row.next()) last = new Version(row.getInt(1), row.getLong(2));
      }
      if (last != null && !version.isAbove(last)) return;
      try (var keep = database.prepareStatement("insert or replace into orders values (?, ?, ?, ?, ?, ?)")) {
        keep.setString(1, key);
        keep.setInt(2, version.generation);
        keep.setLong(3, version.revision);
        keep.setString(4, order.path("status").asText());
        keep.setString(5, order.path("cumQty").asText());
        keep.setString(6, new String(text, StandardCharsets.UTF_8));
        keep.executeUpdate();
      }
      database.commit();
    } finally {
      database.rollback();
    }
    if (fromState) return;
    long expected = last == null ? 1 : last.generation == version.generation ? last.revision + 1 : version.revision;
    if (version.revision > expected) System.err.println(key + ": lost " + expected + " to " + (version.revision - 1));
    // Decimals are text: new BigDecimal(order.get("cumQty").asText()), never double.
    System.out.println(key + " " + version.generation + "." + version.revision + " " + order.path("status").asText() + " " + order.path("cumQty").asText());
  }

  private static KafkaConsumer<byte[], byte[]> client(String group, String isolation) {
    Map<String, Object> settings = Map.of(
        "bootstrap.servers", ENV.getOrDefault("KAFKA_BROKERS", "127.0.0.1:9092"),
        "group.id", group,
        "isolation.level", isolation,
        // After a kill no member reads until the group has given the dead member up: by default 45 s.
        "session.timeout.ms", 10_000,
        "heartbeat.interval.ms", 3_000,
        "enable.auto.commit", false,
        "auto.offset.reset", "earliest");
    return new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
  }

  private static Set<TopicPartition> partitionsOf(KafkaConsumer<byte[], byte[]> consumer, String topic) {
    return consumer.partitionsFor(topic).stream().map(part -> new TopicPartition(topic, part.partition())).collect(Collectors.toSet());
  }

  /**
   * Reads the state topic to its end, twice over: a flush of the writer may lie across partitions, and whatever belongs to one that the first pass saw is
   * below the ends that are asked for after it. Returns how far the writer had certainly come: the newest `observedAt` of the first pass, in ms; null: nothing.
   */
  private Long readState() throws SQLException {
    Long cameTo = null;
    // Only a client that reads uncommitted is given ends behind transactions that are on their way.
    try (var looking = client(GROUP + "-looking", "read_uncommitted"); var reading = client(GROUP + "-bootstrap", "read_committed")) {
      Set<TopicPartition> parts = partitionsOf(looking, STATE);
      Map<TopicPartition, Long> first = looking.endOffsets(parts);
      reading.assign(parts);
      reading.seekToBeginning(parts);
      for (int pass = 1; pass <= 2; pass++) {
        Map<TopicPartition, Long> ends = pass == 1 ? first : looking.endOffsets(parts);
        // The position also passes the markers of transactions, which no record shows.
        while (parts.stream().anyMatch(part -> reading.position(part) < ends.get(part))) {
          for (var record : reading.poll(POLL)) {
            JsonNode update = updateOf(record);
            if (update == null) continue;
            take(update, record.value(), true);
            if (record.offset() >= first.get(new TopicPartition(STATE, record.partition()))) continue;
            long observedMs = Instant.parse(update.get("observedAt").asText()).toEpochMilli();
            cameTo = cameTo == null ? observedMs : Math.max(cameTo, observedMs);
          }
        }
      }
    }
    return cameTo;
  }

  /** Where the updates topic has to be read from. A record's timestamp is when it was sent, so whatever the state topic lacks was sent after `cameTo`. */
  private static Map<TopicPartition, OffsetAndMetadata> startOf(KafkaConsumer<byte[], byte[]> consumer, Set<TopicPartition> parts, Long cameTo) {
    Map<TopicPartition, OffsetAndMetadata> starts = new HashMap<>();
    if (cameTo == null) {
      consumer.beginningOffsets(parts).forEach((part, offset) -> starts.put(part, new OffsetAndMetadata(offset)));
      return starts;
    }
    // Asked for first: a partition without a record of that time is read from here, and nothing that arrives meanwhile is passed over.
    Map<TopicPartition, Long> ends = consumer.endOffsets(parts);
    var wanted = parts.stream().collect(Collectors.toMap(part -> part, part -> cameTo - CLOCK_MARGIN_MS));
    consumer.offsetsForTimes(wanted).forEach((part, found) -> starts.put(part, new OffsetAndMetadata(found == null ? ends.get(part) : found.offset())));
    return starts;
  }

  public static void main(String[] arguments) throws Exception {
    Consumer kept = new Consumer();
    var consumer = client(GROUP, "read_uncommitted");
    Set<TopicPartition> parts = partitionsOf(consumer, UPDATES);
    // Nothing is kept, or away for so long that the broker forgot the group's offsets: what is missing may be gone from the updates topic, and the state is there.
    if (kept.isEmpty() || consumer.committed(parts).values().stream().anyMatch(committed -> committed == null)) {
      Map<TopicPartition, OffsetAndMetadata> starts = startOf(consumer, parts, kept.readState());
      consumer.assign(parts);
      consumer.commitSync(starts);
      consumer.unsubscribe();
    }
    Thread main = Thread.currentThread();
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      consumer.wakeup();
      try {
        main.join(10_000);
      } catch (InterruptedException hurried) {
        // What is not committed is read again.
      }
    }));
    consumer.subscribe(List.of(UPDATES));
    try {
      while (true) {
        for (var record : consumer.poll(POLL)) {
          JsonNode update = updateOf(record);
          if (update != null) kept.take(update, record.value(), false);
        }
        // Behind the work, so a kill leads to repeats, which `take` drops.
        consumer.commitAsync();
      }
    } catch (WakeupException asked) {
      consumer.close();
    }
  }
}
