import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.StringJoiner;
import org.apache.kafka.common.message.MetadataResponseData;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

/**
 * Kafka's MetadataResponseData. Reads "decode 5" from standard input, decodes five times, and prints the CPU nanoseconds
 * of each call. The parent process measures the time of garbage collection and compilation in other threads.
 */
public final class KafkaClients {
    /** The last result, so that the compiler cannot remove the operations. */
    static volatile Object kept;

    public static void main(String[] arguments) throws IOException {
        if (arguments.length < 2) {
            throw new IllegalArgumentException("usage: PROGRAM FILE VERSION");
        }
        byte[] input = Files.readAllBytes(Path.of(arguments[0]));
        short version = Short.parseShort(arguments[1]);

        MetadataResponseData message = decode(input, version);
        ByteBuffer buffer = encode(message, version, null);
        if (!buffer.equals(ByteBuffer.wrap(input))) {
            throw new IllegalStateException("the encoded message differs from the input");
        }
        Map<String, Runnable> operations = Map.of(
            "decode", () -> kept = decode(input, version),
            "encode", () -> kept = encode(message, version, null),
            "reuse", () -> kept = encode(message, version, buffer));
        System.out.println("decode encode reuse");

        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] command = line.split(" ");
            StringJoiner taken = new StringJoiner(" ");
            for (int call = 0; call < Integer.parseInt(command[1]); call++) {
                long start = threads.getCurrentThreadCpuTime();
                operations.get(command[0]).run();
                taken.add(Long.toString(threads.getCurrentThreadCpuTime() - start));
            }
            System.out.println(taken);
        }
    }

    static MetadataResponseData decode(byte[] input, short version) {
        return new MetadataResponseData(new ByteBufferAccessor(ByteBuffer.wrap(input)), version);
    }

    /** Encode like Kafka: compute the size, which caches encoded strings, and then write. */
    static ByteBuffer encode(MetadataResponseData message, short version, ByteBuffer used) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        int size = message.size(cache, version);
        ByteBuffer buffer = used == null ? ByteBuffer.allocate(size) : used.clear();
        message.write(new ByteBufferAccessor(buffer), cache, version);
        return buffer.flip();
    }
}
