import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;

/**
 * Prints, for jars of kafka-clients 0.8.2 and newer, a line for each API of each listener: the name of the jar, the
 * listener, the API key, and the lowest and highest version that ApiVersions reports. The classes have changed, so that
 * reflection finds the ones that a jar has. The class path must contain slf4j-api, which Kafka 1.0 to 2.3 need.
 */
class ApiVersionsOfJars {
    private static final String PACKAGE = "org.apache.kafka.common.";

    public static void main(String[] jars) throws Exception {
        ClassLoader loaderOfLogging = ApiVersionsOfJars.class.getClassLoader();
        for (String jar : jars) {
            URL[] urls = {Path.of(jar).toUri().toURL()};
            try (URLClassLoader classes = new URLClassLoader(urls, loaderOfLogging)) {
                print(Path.of(jar).getFileName().toString(), classes);
            }
        }
    }

    private static void print(String jar, ClassLoader classes) throws Exception {
        Class<?> apiKeys = classes.loadClass(PACKAGE + "protocol.ApiKeys");
        for (Object api : apiKeys.getEnumConstants()) {
            // Kafka 2.7 contains KRaft's requests, and disables them.
            if (hasField(apiKeys, "isEnabled") && !apiKeys.getField("isEnabled").getBoolean(api)) {
                continue;
            }
            int[] versions = versions(classes, apiKeys, api);
            if (versions[0] > versions[1]) {
                continue;
            }
            for (String listener : listeners(classes, apiKeys, api)) {
                short key = apiKeys.getField("id").getShort(api);
                System.out.printf("%s %s %d %d %d%n", jar, listener, key, versions[0], versions[1]);
            }
        }
    }

    /** Returns the lowest and the highest stable version; the lowest is greater if there is none. */
    private static int[] versions(ClassLoader classes, Class<?> apiKeys, Object api) throws Exception {
        if (!hasMethod(apiKeys, "latestVersion")) { // before 0.11
            Object requests = classes.loadClass(PACKAGE + "protocol.Protocol").getField("REQUESTS").get(null);
            Object schemas = Array.get(requests, apiKeys.getField("id").getShort(api));
            int lowest = 0;
            int count = schemas == null ? 0 : Array.getLength(schemas);
            while (lowest < count && Array.get(schemas, lowest) == null) {
                lowest++;
            }
            return new int[] {lowest, count - 1};
        }
        short lowest = (short) apiKeys.getMethod("oldestVersion").invoke(api);
        if (hasMethod(apiKeys, "toApiVersion")) { // 3.5 and newer have unstable versions
            return new int[] {lowest, (short) apiKeys.getMethod("latestVersion", boolean.class).invoke(api, false)};
        }
        return new int[] {lowest, (short) apiKeys.getMethod("latestVersion").invoke(api)};
    }

    private static String[] listeners(ClassLoader classes, Class<?> apiKeys, Object api) throws Exception {
        if (!hasMethod(apiKeys, "inScope")) { // before 2.8
            return new String[] {"zk_broker"};
        }
        Class<?> listenerType = classes.loadClass(PACKAGE + "message.ApiMessageType$ListenerType");
        return Arrays.stream(listenerType.getEnumConstants()).filter(listener -> {
            try {
                return (boolean) apiKeys.getMethod("inScope", listenerType).invoke(api, listener);
            } catch (ReflectiveOperationException error) {
                throw new IllegalStateException(error);
            }
        }).map(listener -> ((Enum<?>) listener).name().toLowerCase(Locale.ROOT)).toArray(String[]::new);
    }

    private static boolean hasField(Class<?> type, String name) {
        return Arrays.stream(type.getFields()).map(Field::getName).anyMatch(name::equals);
    }

    private static boolean hasMethod(Class<?> type, String name) {
        return Arrays.stream(type.getMethods()).anyMatch(method -> method.getName().equals(name));
    }
}
