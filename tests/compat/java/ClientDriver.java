import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.TreeSet;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.clients.admin.DescribeReplicaLogDirsResult;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.clients.admin.DescribeTopicsResult;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionReplica;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AccessControlEntryFilter;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourcePatternFilter;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The Java client behind a pipe: one command per line on standard input, one answer per line on standard output.
 *
 * <p>Tokens are separated by tabs. Bytes are "-" for null, else "." and base64. Settings are "name=value" tokens. An
 * answer is "ok" and its tokens, or "error" and one line. It compiles against the clients of 2.7.2 and of 4.x.
 */
public final class ClientDriver {
    private final Map<String, KafkaProducer<byte[], byte[]>> producers = new HashMap<>();
    private final Map<String, List<Future<RecordMetadata>>> sent = new HashMap<>();
    private final Map<String, KafkaConsumer<byte[], byte[]>> consumers = new HashMap<>();
    private final Map<String, Admin> admins = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        ClientDriver driver = new ClientDriver();
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String answer;
            try {
                answer = "ok" + driver.run(line.split("\t", -1));
            } catch (Exception error) {
                Throwable cause = error instanceof java.util.concurrent.ExecutionException ? error.getCause() : error;
                answer = "error\t" + cause.getClass().getSimpleName() + ": " + oneLine(cause.getMessage());
            }
            out.print(answer + "\n");
            out.flush();
        }
    }

    private String run(String[] tokens) throws Exception {
        String id = tokens[1];
        switch (tokens[0]) {
            case "producer":
                producers.put(id, new KafkaProducer<>(
                        properties(tokens, 2), new ByteArraySerializer(), new ByteArraySerializer()));
                sent.put(id, new ArrayList<>());
                return "";
            case "send":
                return send(id, tokens);
            case "flush":
                return flush(id);
            case "close-producer":
                producers.remove(id).close();
                return "";
            case "consumer":
                consumers.put(id, new KafkaConsumer<>(
                        properties(tokens, 2), new ByteArrayDeserializer(), new ByteArrayDeserializer()));
                return "";
            case "subscribe":
                consumers.get(id).subscribe(Arrays.asList(tokens).subList(2, tokens.length));
                return "";
            case "poll":
                return poll(id, Long.parseLong(tokens[2]));
            case "commit":
                consumers.get(id).commitSync();
                return "";
            case "assignment":
                return assignment(id);
            case "offset-for-time":
                return offsetForTime(id, partition(tokens[2], tokens[3]), Long.parseLong(tokens[4]));
            case "end-offset":
                TopicPartition asked = partition(tokens[2], tokens[3]);
                return "\t" + consumers.get(id).endOffsets(Collections.singleton(asked)).get(asked);
            case "received-bytes":
                return "\t" + receivedBytes(consumers.get(id), tokens[2]);
            case "close-consumer":
                consumers.remove(id).close();
                return "";
            case "admin":
                admins.put(id, Admin.create(properties(tokens, 2)));
                return "";
            case "create-topic":
                NewTopic topic = new NewTopic(tokens[2], Integer.parseInt(tokens[3]), (short) 1);
                topic.configs(pairs(tokens, 4));
                admins.get(id).createTopics(Collections.singleton(topic)).all().get();
                return "";
            case "list-topics":
                return "\t" + String.join("\t", new TreeSet<>(admins.get(id).listTopics().names().get()));
            case "topic-config":
                return topicConfig(id, tokens[2], tokens[3]);
            case "alter-topic-config":
                ConfigResource altered = new ConfigResource(ConfigResource.Type.TOPIC, tokens[2]);
                AlterConfigOp.OpType how = AlterConfigOp.OpType.valueOf(tokens[3]);
                AlterConfigOp change = new AlterConfigOp(new ConfigEntry(tokens[4], tokens[5]), how);
                admins.get(id)
                        .incrementalAlterConfigs(Map.of(altered, Collections.singleton(change)))
                        .all()
                        .get();
                return "";
            case "delete-topic":
                admins.get(id).deleteTopics(Collections.singleton(tokens[2])).all().get();
                return "";
            case "group-state":
                return groupState(id, tokens[2]);
            case "group-offset":
                return groupOffset(id, tokens[2], partition(tokens[3], tokens[4]));
            case "create-partitions":
                admins.get(id).createPartitions(
                        Collections.singletonMap(tokens[2], NewPartitions.increaseTo(Integer.parseInt(tokens[3]))))
                        .all().get();
                return "";
            case "elect-leaders":
                return electLeaders(id, partition(tokens[2], tokens[3]), tokens[4]);
            case "reassign":
                return reassign(id, partition(tokens[2], tokens[3]), tokens[4]);
            case "list-reassignments":
                return "\t" + new TreeSet<>(names(
                        admins.get(id).listPartitionReassignments().reassignments().get().keySet()));
            case "move-replica":
                admins.get(id).alterReplicaLogDirs(Collections.singletonMap(
                        new TopicPartitionReplica(tokens[2], Integer.parseInt(tokens[3]), 0), tokens[4])).all().get();
                return "";
            case "replica-log-dir":
                return replicaLogDir(id, tokens[2], Integer.parseInt(tokens[3]));
            case "create-acl":
                admins.get(id).createAcls(Collections.singleton(binding(tokens))).all().get();
                return "";
            case "acls":
                return "\t" + String.join("\t", bindings(
                        admins.get(id).describeAcls(filter(tokens)).values().get()));
            case "delete-acls":
                return "\t" + String.join("\t", bindings(
                        admins.get(id).deleteAcls(Collections.singleton(filter(tokens))).all().get()));
            case "topic-rights":
                return "\t" + new TreeSet<>(names(described(admins.get(id)
                        .describeTopics(Collections.singleton(tokens[2]),
                                new DescribeTopicsOptions().includeAuthorizedOperations(true)))
                        .get(tokens[2]).authorizedOperations()));
            case "cluster-rights":
                return "\t" + new TreeSet<>(names(admins.get(id)
                        .describeCluster(new DescribeClusterOptions().includeAuthorizedOperations(true))
                        .authorizedOperations().get()));
            case "close-admin":
                admins.remove(id).close();
                return "";
            default:
                throw new IllegalArgumentException("unknown command " + tokens[0]);
        }
    }

    /** What all() gives up to Kafka 3.0, and allTopicNames() from then on. */
    @SuppressWarnings("unchecked")
    private static Map<String, TopicDescription> described(DescribeTopicsResult result) throws Exception {
        String all = "allTopicNames";
        for (java.lang.reflect.Method method : DescribeTopicsResult.class.getMethods()) {
            if (method.getName().equals("all") && method.getParameterCount() == 0) {
                all = "all";
            }
        }
        return ((Future<Map<String, TopicDescription>>) DescribeTopicsResult.class.getMethod(all).invoke(result)).get();
    }

    /** send ID TOPIC PARTITION|- TIMESTAMP|- KEY VALUE HEADERS: queued; flush tells where it went. */
    private String send(String id, String[] tokens) {
        Integer partition = tokens[3].equals("-") ? null : Integer.valueOf(tokens[3]);
        Long timestamp = tokens[4].equals("-") ? null : Long.valueOf(tokens[4]);
        RecordHeaders headers = new RecordHeaders();
        if (!tokens[7].isEmpty()) {
            for (String header : tokens[7].split(";")) {
                String[] parts = header.split(":");
                headers.add(new String(bytes(parts[0]), StandardCharsets.UTF_8), bytes(parts[1]));
            }
        }
        ProducerRecord<byte[], byte[]> record =
                new ProducerRecord<>(tokens[2], partition, timestamp, bytes(tokens[5]), bytes(tokens[6]), headers);
        sent.get(id).add(producers.get(id).send(record));
        return "";
    }

    private String flush(String id) throws Exception {
        producers.get(id).flush();
        StringBuilder answer = new StringBuilder();
        for (Future<RecordMetadata> future : sent.get(id)) {
            RecordMetadata metadata = future.get();
            answer.append('\t').append(metadata.partition()).append(',').append(metadata.offset());
        }
        sent.get(id).clear();
        return answer.toString();
    }

    private String poll(String id, long timeoutMs) {
        StringBuilder answer = new StringBuilder();
        for (ConsumerRecord<byte[], byte[]> record : consumers.get(id).poll(Duration.ofMillis(timeoutMs))) {
            answer.append('\t').append(record.partition()).append(',').append(record.offset());
            answer.append(',').append(record.timestamp());
            answer.append(',').append(text(record.key())).append(',').append(text(record.value())).append(',');
            String separator = "";
            for (Header header : record.headers()) {
                byte[] key = header.key().getBytes(StandardCharsets.UTF_8);
                answer.append(separator).append(text(key)).append(':').append(text(header.value()));
                separator = ";";
            }
        }
        return answer.toString();
    }

    private String assignment(String id) {
        TreeSet<Integer> partitions = new TreeSet<>();
        for (TopicPartition assigned : consumers.get(id).assignment()) {
            partitions.add(assigned.partition());
        }
        StringBuilder answer = new StringBuilder();
        for (int partition : partitions) {
            answer.append('\t').append(partition);
        }
        return answer.toString();
    }

    private static long receivedBytes(KafkaConsumer<byte[], byte[]> consumer, String broker) {
        return consumer.metrics().entrySet().stream()
                .filter(each -> each.getKey().name().equals("incoming-byte-total"))
                .filter(each -> ("node-" + broker).equals(each.getKey().tags().get("node-id")))
                .mapToLong(each -> ((Number) each.getValue().metricValue()).longValue())
                .sum();
    }

    private String offsetForTime(String id, TopicPartition partition, long timestamp) {
        Map<TopicPartition, OffsetAndTimestamp> found =
                consumers.get(id).offsetsForTimes(Collections.singletonMap(partition, timestamp));
        return "\t" + (found.get(partition) == null ? -1 : found.get(partition).offset());
    }

    private String topicConfig(String id, String topic, String name) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        Config config = admins.get(id).describeConfigs(Collections.singleton(resource)).all().get().get(resource);
        return "\t" + config.get(name).value() + "\t" + config.get(name).source();
    }

    // state() is on its way out in 4.x, and its successor is not there in 2.7.2.
    private static AclBinding binding(String[] tokens) {
        return new AclBinding(
                new ResourcePattern(
                        ResourceType.valueOf(tokens[2]), tokens[3], PatternType.valueOf(tokens[4])),
                new AccessControlEntry(
                        tokens[5], tokens[6], AclOperation.valueOf(tokens[7]), AclPermissionType.valueOf(tokens[8])));
    }

    private static AclBindingFilter filter(String[] tokens) {
        return new AclBindingFilter(
                new ResourcePatternFilter(ResourceType.valueOf(tokens[2]), tokens[3], PatternType.valueOf(tokens[4])),
                AccessControlEntryFilter.ANY);
    }

    private static TreeSet<String> bindings(Collection<AclBinding> found) {
        TreeSet<String> names = new TreeSet<>();
        for (AclBinding each : found) {
            names.add(String.join(" ",
                    each.pattern().resourceType().name(), each.pattern().name(), each.pattern().patternType().name(),
                    each.entry().principal(), each.entry().host(), each.entry().operation().name(),
                    each.entry().permissionType().name()));
        }
        return names;
    }

    @SuppressWarnings("removal")
    private String groupState(String id, String group) throws Exception {
        ConsumerGroupDescription description =
                admins.get(id).describeConsumerGroups(Collections.singleton(group)).all().get().get(group);
        return "\t" + description.state() + "\t" + description.members().size();
    }

    private String groupOffset(String id, String group, TopicPartition partition) throws Exception {
        OffsetAndMetadata committed =
                admins.get(id).listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().get(partition);
        return "\t" + (committed == null ? -1 : committed.offset());
    }

    /** The partitions whose election failed, and why; none where all went well. */
    private String electLeaders(String id, TopicPartition partition, String type) throws Exception {
        StringBuilder answer = new StringBuilder();
        admins.get(id).electLeaders(ElectionType.valueOf(type), Collections.singleton(partition)).partitions().get()
                .forEach((each, error) -> answer.append("\t").append(each).append("=")
                        .append(error.map(thrown -> thrown.getClass().getSimpleName()).orElse("")));
        return answer.toString();
    }

    private String reassign(String id, TopicPartition partition, String replicas) throws Exception {
        List<Integer> brokers = new ArrayList<>();
        for (String replica : replicas.split(",")) {
            brokers.add(Integer.valueOf(replica));
        }
        admins.get(id).alterPartitionReassignments(Collections.singletonMap(
                partition, Optional.of(new NewPartitionReassignment(brokers)))).all().get();
        return "";
    }

    private static List<String> names(Iterable<?> partitions) {
        List<String> names = new ArrayList<>();
        partitions.forEach(each -> names.add(each.toString()));
        return names;
    }

    /** Where a replica of broker 0 stands, where it goes, and how far it is behind there. */
    private String replicaLogDir(String id, String topic, int partition) throws Exception {
        TopicPartitionReplica replica = new TopicPartitionReplica(topic, partition, 0);
        DescribeReplicaLogDirsResult.ReplicaLogDirInfo info =
                admins.get(id).describeReplicaLogDirs(Collections.singleton(replica)).all().get().get(replica);
        return "\t" + info.getCurrentReplicaLogDir() + "\t" + info.getCurrentReplicaOffsetLag()
                + "\t" + info.getFutureReplicaLogDir();
    }

    private static TopicPartition partition(String topic, String number) {
        return new TopicPartition(topic, Integer.parseInt(number));
    }

    private static Properties properties(String[] tokens, int from) {
        Properties properties = new Properties();
        properties.putAll(pairs(tokens, from));
        return properties;
    }

    private static Map<String, String> pairs(String[] tokens, int from) {
        Map<String, String> pairs = new HashMap<>();
        for (String token : Arrays.asList(tokens).subList(from, tokens.length)) {
            int equals = token.indexOf('=');
            pairs.put(token.substring(0, equals), token.substring(equals + 1));
        }
        return pairs;
    }

    private static byte[] bytes(String token) {
        return token.equals("-") ? null : Base64.getDecoder().decode(token.substring(1));
    }

    private static String text(byte[] bytes) {
        return bytes == null ? "-" : "." + Base64.getEncoder().encodeToString(bytes);
    }

    private static String oneLine(String message) {
        return message == null ? "" : message.replace('\n', ' ').replace('\t', ' ');
    }
}
