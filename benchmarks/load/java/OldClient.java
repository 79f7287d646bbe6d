import java.io.IOException;
import java.util.Collections;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/**
 * A load by an old Java client, 0.10.2 or 0.11, as the class path says: it warms up, prints "ready", waits for a line,
 * works, and prints the seconds that this took.
 *
 * <pre>
 *     OldClient produce SERVERS TOPIC WARMUP COUNT VALUE_BYTES CODEC
 *     OldClient consume SERVERS TOPIC WARMUP COUNT
 * </pre>
 *
 * What is consumed are the first records of the topic, for the warm-up and then once more.
 */
final class OldClient {
    private OldClient() {}

    public static void main(String[] arguments) throws IOException {
        int warmup = Integer.parseInt(arguments[3]);
        int count = Integer.parseInt(arguments[4]);
        if (arguments[0].equals("produce")) {
            produce(arguments[1], arguments[2], warmup, count, Integer.parseInt(arguments[5]), arguments[6]);
        } else {
            consume(arguments[1], new TopicPartition(arguments[2], 0), warmup, count);
        }
    }

    private static void produce(String servers, String topic, int warmup, int count, int valueBytes, String codec)
            throws IOException {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", servers);
        settings.put("acks", "1");
        settings.put("compression.type", codec);
        settings.put("key.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        settings.put("value.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        // Random letters: half their size when compressed.
        Random dice = new Random(1);
        byte[] letters = new byte[1 << 20];
        for (int index = 0; index < letters.length; index++) {
            letters[index] = (byte) "0123456789abcdef".charAt(dice.nextInt(16));
        }
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings)) {
            send(producer, topic, warmup, letters, valueBytes, dice);
            long start = awaitStart();
            send(producer, topic, count, letters, valueBytes, dice);
            System.out.println((System.nanoTime() - start) / 1e9);
        }
    }

    private static void send(
            KafkaProducer<byte[], byte[]> producer, String topic, int count, byte[] letters, int valueBytes, Random dice) {
        AtomicReference<Exception> failure = new AtomicReference<>();
        for (int number = 0; number < count; number++) {
            byte[] value = new byte[valueBytes];
            System.arraycopy(letters, dice.nextInt(letters.length - valueBytes), value, 0, valueBytes);
            producer.send(
                    new ProducerRecord<>(topic, value),
                    (metadata, exception) -> {
                        if (exception != null) {
                            failure.set(exception);
                        }
                    });
        }
        producer.flush();
        if (failure.get() != null) {
            throw new IllegalStateException("a record was not taken", failure.get());
        }
    }

    private static void consume(String servers, TopicPartition partition, int warmup, int count) throws IOException {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", servers);
        settings.put("enable.auto.commit", "false");
        settings.put("key.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        settings.put("value.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings)) {
            consumer.assign(Collections.singletonList(partition));
            read(consumer, partition, warmup);
            long start = awaitStart();
            read(consumer, partition, count);
            System.out.println((System.nanoTime() - start) / 1e9);
        }
    }

    private static void read(KafkaConsumer<byte[], byte[]> consumer, TopicPartition partition, int count) {
        consumer.seek(partition, 0);
        for (int read = 0; read < count; ) {
            read += consumer.poll(1000).count();
        }
    }

    private static long awaitStart() throws IOException {
        System.out.println("ready");
        if (System.in.read() < 0) {
            throw new IllegalStateException("nobody wants this load any more");
        }
        return System.nanoTime();
    }
}
