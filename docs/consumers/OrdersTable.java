import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;

/**
 * The newest state of every order as a KTable of Kafka Streams, from the state topic and the updates topic at once.
 *
 *   mvn -f pom.xml dependency:copy-dependencies -DoutputDirectory=lib
 *   KAFKA_BROKERS=127.0.0.1:9092 java -cp 'lib/*' OrdersTable.java
 *
 * Not of the updates topic alone: where it is off for longer than that keeps records, Kafka goes on at the oldest one without a word. The state topic keeps the newest
 * record of every order, and says how each ended.
 *
 * Not `builder.table(...)`: that keeps the record that came last, and a record may come again after a newer one.
 */
public class OrdersTable {
  private static final Map<String, String> ENV = System.getenv();
  private static final String PREFIX = ENV.getOrDefault("TOPIC_PREFIX", "");
  private static final List<String> TOPICS = List.of(PREFIX + "tidemark.order-state.v1", PREFIX + "tidemark.order-updates.v1");
  private static final ObjectMapper JSON = new ObjectMapper();

  /** Both topics have the same keys and partitions, so that all records of an order meet in one task. */
  static KTable<String, String> orders(StreamsBuilder builder) {
    return builder
        .stream(TOPICS, Consumed.with(Serdes.String(), Serdes.String()))
        .filter((key, value) -> key != null && parsed(value) != null)
        .groupByKey(Grouped.with(Serdes.String(), Serdes.String()))
        .reduce((kept, next) -> isAbove(parsed(next), parsed(kept)) ? next : kept, Materialized.with(Serdes.String(), Serdes.String()));
  }

  private static boolean isAbove(JsonNode next, JsonNode kept) {
    int generations = Integer.compare(next.get("generation").asInt(), kept.get("generation").asInt());
    return generations > 0 || (generations == 0 && next.get("revision").asLong() > kept.get("revision").asLong());
  }

  /** Null for what Tidemark never writes. */
  private static JsonNode parsed(String value) {
    try {
      JsonNode update = value == null ? null : JSON.readTree(value);
      if (update != null && List.of("generation", "revision", "order").stream().allMatch(update::has)) return update;
    } catch (IOException notJson) {
      // As any other foreign record.
    }
    return null;
  }

  public static void main(String[] arguments) {
    Properties settings = new Properties();
    settings.put("application.id", ENV.getOrDefault("GROUP_ID", "my-orders-table"));
    settings.put("bootstrap.servers", ENV.getOrDefault("KAFKA_BROKERS", "127.0.0.1:9092"));
    settings.put("state.dir", ENV.getOrDefault("STATE_DIR", System.getProperty("java.io.tmpdir") + "/orders-table"));
    settings.put("auto.offset.reset", "earliest");
    // It also reads only what is committed, as the state topic asks for.
    settings.put("processing.guarantee", "exactly_once_v2");
    StreamsBuilder builder = new StreamsBuilder();
    orders(builder).toStream().foreach((key, value) -> {
      JsonNode update = parsed(value);
      System.out.println(key + " " + update.get("generation").asInt() + "." + update.get("revision").asLong() + " " + update.get("order").path("status").asText());
    });
    KafkaStreams streams = new KafkaStreams(builder.build(), settings);
    Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(10))));
    streams.start();
  }
}
