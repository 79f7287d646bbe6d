import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.errors.GroupMaxSizeReachedException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Reads a topic until SIGTERM and does what it is told on standard input; arguments: the topic, settings as "name=value". */
public final class ObedientConsumer {
    private static final int TURNED_AWAY = 3;

    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        for (String setting : Arrays.asList(arguments).subList(1, arguments.length)) {
            int equals = setting.indexOf('=');
            settings.setProperty(setting.substring(0, equals), setting.substring(equals + 1));
        }
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        AtomicBoolean stopped = new AtomicBoolean();
        Thread reader = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            stopped.set(true);
            try {
                reader.join();
            } catch (InterruptedException ended) {
                Thread.currentThread().interrupt();
            }
        }));
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(Collections.singleton(arguments[0]));
            while (!stopped.get()) {
                if (in.ready()) {
                    List<String> words = Arrays.asList(in.readLine().split(" "));
                    if (words.get(0).equals("subscribe")) {
                        consumer.subscribe(words.subList(1, words.size()));
                    } else {
                        Thread.sleep(Long.MAX_VALUE);
                    }
                }
                consumer.poll(Duration.ofMillis(100));
            }
        } catch (GroupMaxSizeReachedException full) {
            // Not exit: what that waits for is this thread.
            Runtime.getRuntime().halt(TURNED_AWAY);
        }
    }
}
