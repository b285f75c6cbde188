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
 * Kafka's own classes at MetadataResponse, working when told to: reads "decode 5" from standard input, decodes five
 * times, answers with the CPU nanoseconds of each. The collector and the compiler work in other threads; who started
 * this program adds that.
 */
public final class KafkaClients {
    /** Where results go, so that no compiler can tell they are not needed. */
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
            throw new IllegalStateException("it writes something else than it read");
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

    /** As Kafka's own code does it: measure first, which also remembers what strings come to, then write. */
    static ByteBuffer encode(MetadataResponseData message, short version, ByteBuffer used) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        int size = message.size(cache, version);
        ByteBuffer buffer = used == null ? ByteBuffer.allocate(size) : used.clear();
        message.write(new ByteBufferAccessor(buffer), cache, version);
        return buffer.flip();
    }
}
