import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.InvalidOffsetException;
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
  private static final Duration POLL = Duration.ofMillis(500);
  private static final ObjectMapper JSON = new ObjectMapper();

  private final Connection database = DriverManager.getConnection("jdbc:sqlite:" + ENV.getOrDefault("STATE_FILE", "orders.sqlite"));

  private Consumer() throws SQLException {
    try (var statement = database.createStatement()) {
      statement.execute("pragma journal_mode = wal");
      statement.execute("create table if not exists orders"
          + " (key text primary key, generation integer, revision integer, status text, cum_qty text, record text, partition integer)");
      // A file of an earlier version lacks it: an order there has none until its next change, and is named at each start from nothing.
      boolean hasPartition = statement.executeQuery("select 1 from pragma_table_info('orders') where name = 'partition'").next();
      if (!hasPartition) statement.execute("alter table orders add column partition integer");
      // The next offset of each partition of the updates topic, kept with the orders: what the group has committed says nothing about what this file has.
      statement.execute("create table if not exists positions (partition integer primary key, next integer)");
      statement.execute("create temp table shown (key text primary key)");
    }
    database.setAutoCommit(false);
  }

  private void run(String sql, Object... values) throws SQLException {
    try (var statement = database.prepareStatement(sql)) {
      for (int at = 0; at < values.length; at++) statement.setObject(at + 1, values[at]);
      statement.executeUpdate();
    }
  }

  private Map<Integer, Long> positions() throws SQLException {
    Map<Integer, Long> positions = new HashMap<>();
    try (var statement = database.createStatement(); var rows = statement.executeQuery("select partition, next from positions")) {
      while (rows.next()) positions.put(rows.getInt(1), rows.getLong(2));
    }
    return positions;
  }

  private void keepPosition(int partition, long next) throws SQLException {
    run("insert or replace into positions values (?, ?)", partition, next);
  }

  private record Version(int generation, long revision) {
    boolean isAbove(Version other) {
      return generation > other.generation || (generation == other.generation && revision > other.revision);
    }
  }

  /** Null for what Tidemark never writes: a tombstone, or a record of another program. What is kept of the order stays; `tidemark verify` finds such records. */
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

  private final List<String> said = new ArrayList<>();
  private final List<String> lost = new ArrayList<>();

  /** The one rule: what is not above the (generation, revision) that is kept is a repeat. `commit` ends it. */
  private void take(JsonNode update, ConsumerRecord<byte[], byte[]> record, boolean fromState) throws SQLException {
    String key = update.get("stream").asText() + ":" + update.get("orderId").asText();
    Version version = new Version(update.get("generation").asInt(), update.get("revision").asLong());
    JsonNode order = update.get("order");
    Version last = null;
    try (var read = database.prepareStatement("select generation, revision from orders where key = ?")) {
      read.setString(1, key);
      var row = read.executeQuery();
      if (row.next()) last = new Version(row.getInt(1), row.getLong(2));
    }
    boolean isNew = last == null || version.isAbove(last);
    if (isNew) {
      String text = new String(record.value(), StandardCharsets.UTF_8);
      run("insert or replace into orders values (?, ?, ?, ?, ?, ?, ?)",
          key, version.generation, version.revision, order.path("status").asText(), order.path("cumQty").asText(), text, record.partition());
    }
    if (fromState) run("insert or ignore into shown values (?)", key);
    else keepPosition(record.partition(), record.offset() + 1);
    if (!isNew) return;
    if (fromState) return;
    long expected = last == null ? 1 : last.generation == version.generation ? last.revision + 1 : version.revision;
    if (version.revision > expected) lost.add(key + ": lost " + expected + " to " + (version.revision - 1));
    // Decimals are text: new BigDecimal(order.get("cumQty").asText()), never double.
    said.add(key + " " + version.generation + "." + version.revision + " " + order.path("status").asText() + " " + order.path("cumQty").asText());
  }

  /** Ends the transaction of all that was taken since the last one. Nothing is said before it, and a kill before it leaves nothing of it. */
  private void commit() throws SQLException {
    database.commit();
    lost.forEach(System.err::println);
    lost.clear();
    if (!said.isEmpty()) System.out.println(String.join("\n", said));
    said.clear();
  }

  private static KafkaConsumer<byte[], byte[]> client(String group, String isolation) {
    Map<String, Object> settings = Map.of(
        "bootstrap.servers", ENV.getOrDefault("KAFKA_BROKERS", "127.0.0.1:9092"),
        "group.id", group,
        "isolation.level", isolation,
        // After a kill no member reads until the group has given the dead member up: by default 45 s.
        "session.timeout.ms", 10_000,
        "heartbeat.interval.ms", 3_000,
        // A start from nothing takes as long as the state topic is.
        "max.poll.interval.ms", 3_600_000,
        "enable.auto.commit", false,
        // Never elsewhere without a word: an order that ended in what was deleted would stay open here for ever.
        "auto.offset.reset", "none");
    return new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
  }

  private static Set<TopicPartition> partitionsOf(KafkaConsumer<byte[], byte[]> consumer, String topic) {
    return consumer.partitionsFor(topic).stream().map(part -> new TopicPartition(topic, part.partition())).collect(Collectors.toSet());
  }

  /**
   * Reads these partitions of the state topic to their ends. They may be behind the updates topic, which is read from its beginning after them. A key has one partition
   * number on both topics, and the other partitions go on from their own positions: beside their state, the changes that they have still to bring would be repeats.
   */
  private void readState(Set<Integer> partitions) throws SQLException {
    run("delete from shown");
    // Only a client that reads uncommitted is given ends behind transactions that are on their way.
    try (var looking = client(GROUP + "-looking", "read_uncommitted"); var reading = client(GROUP + "-bootstrap", "read_committed")) {
      Set<TopicPartition> parts = partitionsOf(looking, STATE);
      parts.removeIf(part -> !partitions.contains(part.partition()));
      Map<TopicPartition, Long> ends = looking.endOffsets(parts);
      reading.assign(parts);
      reading.seekToBeginning(parts);
      // The position also passes the markers of transactions, which no record shows.
      while (parts.stream().anyMatch(part -> reading.position(part) < ends.get(part))) {
        for (var record : reading.poll(POLL)) {
          JsonNode update = updateOf(record);
          if (update != null) take(update, record, true);
        }
        commit();
      }
    }
  }

  /**
   * Brings the consumer to where this file goes on. Partitions start from nothing whose position is not on the topic: none is kept, what follows it was deleted unread,
   * or the topic was made anew; `lost` are known to be such. No clock is asked: whatever the state topic lacks is behind the beginning that the updates topic
   * had before the state was read.
   */
  private void settle(KafkaConsumer<byte[], byte[]> consumer, Collection<TopicPartition> parts, Set<TopicPartition> lost) {
    try {
      Map<TopicPartition, Long> begin = consumer.beginningOffsets(parts);
      Map<TopicPartition, Long> end = consumer.endOffsets(parts);
      Map<Integer, Long> kept = positions();
      List<TopicPartition> outside = parts.stream().filter(part -> {
        long next = kept.getOrDefault(part.partition(), -1L);
        return lost.contains(part) || next < begin.get(part) || next > end.get(part);
      }).toList();
      if (!outside.isEmpty()) {
        String listed = outside.stream().map(part -> String.valueOf(part.partition())).collect(Collectors.joining(", "));
        if (!kept.isEmpty()) System.err.println(UPDATES + ": partitions " + listed + " begin again from the state topic");
        Set<Integer> partitions = outside.stream().map(TopicPartition::partition).collect(Collectors.toSet());
        readState(partitions);
        for (TopicPartition part : outside) {
          kept.put(part.partition(), begin.get(part));
          keepPosition(part.partition(), begin.get(part));
        }
        database.commit();
        sayUnshown(partitions);
      }
      Map<TopicPartition, OffsetAndMetadata> starts = new HashMap<>();
      for (TopicPartition part : parts) {
        consumer.seek(part, kept.get(part.partition()));
        starts.put(part, new OffsetAndMetadata(kept.get(part.partition())));
      }
      consumer.commitAsync(starts, null);
    } catch (SQLException failed) {
      throw new IllegalStateException(failed);
    }
  }

  /** Younger than the state topic, or of a database that the service no longer has: ask REST about those that stay. */
  private void sayUnshown(Set<Integer> partitions) throws SQLException {
    String sql = "select key, status, partition from orders where key not in (select key from shown)"
        + " and status not in ('filled', 'canceled', 'rejected', 'expired', 'replaced')";
    try (var statement = database.createStatement(); var rows = statement.executeQuery(sql)) {
      while (rows.next()) {
        boolean isAsked = rows.getObject(3) == null || partitions.contains(rows.getInt(3));
        if (isAsked) System.err.println(rows.getString(1) + ": kept as " + rows.getString(2) + ", and the state topic does not show it");
      }
    }
  }

  public static void main(String[] arguments) throws Exception {
    Consumer kept = new Consumer();
    var consumer = client(GROUP, "read_uncommitted");
    Thread main = Thread.currentThread();
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      consumer.wakeup();
      try {
        main.join(10_000);
      } catch (InterruptedException hurried) {
        // What is not committed is read again.
      }
    }));
    consumer.subscribe(List.of(UPDATES), new ConsumerRebalanceListener() {
      @Override
      public void onPartitionsAssigned(Collection<TopicPartition> parts) {
        // Kafka forgets the group's offsets with the topic: where it has none, and we have a position, the topic was made anew.
        var committed = consumer.committed(Set.copyOf(parts));
        kept.settle(consumer, parts, parts.stream().filter(part -> committed.get(part) == null).collect(Collectors.toSet()));
      }

      @Override
      public void onPartitionsRevoked(Collection<TopicPartition> parts) {
        // Positions are kept with the records, before the next poll.
      }
    });
    try {
      while (true) {
        try {
          for (var record : consumer.poll(POLL)) {
            JsonNode update = updateOf(record);
            if (update != null) kept.take(update, record, false);
            else kept.keepPosition(record.partition(), record.offset() + 1);
          }
          // All that one poll brought: a commit waits for the disk, whatever it holds.
          kept.commit();
          // For those who watch the group; after a restart we go on from our own positions.
          consumer.commitAsync();
        } catch (InvalidOffsetException gone) {
          // Our position is not on the topic any more: it began again behind it while we ran, or was made anew.
          kept.settle(consumer, gone.partitions(), gone.partitions());
        }
      }
    } catch (WakeupException asked) {
      consumer.close();
    }
  }
}
