import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import kafka.consumer.Consumer;
import kafka.consumer.ConsumerConfig;
import kafka.consumer.ConsumerIterator;
import kafka.consumer.KafkaStream;
import kafka.consumer.Whitelist;
import kafka.javaapi.consumer.ConsumerConnector;
import kafka.message.MessageAndMetadata;
import org.apache.log4j.AppenderSkeleton;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import org.apache.log4j.spi.LoggingEvent;

/**
 * Kafka 0.8.2's high-level consumer behind a pipe: one event per line on standard output, commands on standard input.
 *
 * <p>Arguments: "topic:streams" pairs joined by commas, or "regex:streams" after "--white-list"; then "name=value"
 * settings. Tokens of a line are separated by tabs, the second is the wall clock in ms. Lines: "up", "message" with
 * topic, partition and offset, "rebalance" with "begin" or "end", "committed", "error" with a text, "down". Commands:
 * "commit", "shutdown"; the end of standard input is a shutdown too.
 */
public final class OldConsumerDriver {
    private static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);

    public static void main(String[] arguments) throws Exception {
        boolean isWhiteList = arguments[0].equals("--white-list");
        int first = isWhiteList ? 1 : 0;
        Properties settings = new Properties();
        for (int index = first + 1; index < arguments.length; index++) {
            String[] setting = arguments[index].split("=", 2);
            settings.setProperty(setting[0], setting[1]);
        }
        watchRebalances();
        ConsumerConnector connector = Consumer.createJavaConsumerConnector(new ConsumerConfig(settings));
        List<Thread> readers = new ArrayList<>();
        for (KafkaStream<byte[], byte[]> stream : streams(connector, arguments[first], isWhiteList)) {
            Thread reader = new Thread(() -> read(stream.iterator()));
            readers.add(reader);
            reader.start();
        }
        say("up");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null && !line.equals("shutdown"); line = in.readLine()) {
            if (line.equals("commit")) {
                connector.commitOffsets();
                say("committed");
            }
        }
        connector.shutdown();
        for (Thread reader : readers) {
            reader.join();
        }
        say("down");
        System.exit(0);
    }

    private static List<KafkaStream<byte[], byte[]>> streams(
            ConsumerConnector connector, String subscription, boolean isWhiteList) {
        List<KafkaStream<byte[], byte[]>> streams = new ArrayList<>();
        if (isWhiteList) {
            int colon = subscription.lastIndexOf(':');
            Whitelist filter = new Whitelist(subscription.substring(0, colon));
            return connector.createMessageStreamsByFilter(
                    filter, Integer.parseInt(subscription.substring(colon + 1)));
        }
        Map<String, Integer> counts = new HashMap<>();
        for (String pair : subscription.split(",")) {
            String[] parts = pair.split(":");
            counts.put(parts[0], Integer.valueOf(parts[1]));
        }
        connector.createMessageStreams(counts).values().forEach(streams::addAll);
        return streams;
    }

    private static void read(ConsumerIterator<byte[], byte[]> messages) {
        while (messages.hasNext()) {
            MessageAndMetadata<byte[], byte[]> message = messages.next();
            say("message", message.topic(), message.partition(), message.offset());
        }
    }

    /** The connector says in its log alone when it rebalances. */
    private static void watchRebalances() {
        Logger logger = Logger.getLogger("kafka.consumer.ZookeeperConsumerConnector");
        logger.setLevel(Level.INFO);
        logger.addAppender(new AppenderSkeleton() {
            @Override
            protected void append(LoggingEvent event) {
                String text = event.getRenderedMessage();
                if (text.contains("begin rebalancing consumer")) {
                    say("rebalance", "begin");
                } else if (text.contains("end rebalancing consumer")) {
                    say("rebalance", "end");
                } else if (event.getLevel().isGreaterOrEqual(Level.ERROR)) {
                    say("error", text.replace('\n', ' ').replace('\t', ' '));
                }
            }

            @Override
            public void close() {}

            @Override
            public boolean requiresLayout() {
                return false;
            }
        });
    }

    private static void say(String kind, Object... tokens) {
        StringBuilder line = new StringBuilder(kind).append('\t').append(System.currentTimeMillis());
        for (Object token : tokens) {
            line.append('\t').append(token);
        }
        synchronized (OUT) {
            OUT.print(line.append('\n'));
            OUT.flush();
        }
    }
}
