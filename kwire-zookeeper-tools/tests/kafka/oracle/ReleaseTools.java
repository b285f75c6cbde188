import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.File;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.security.Permission;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Runs main classes of several releases of Kafka in one JVM, one after the other.
 *
 * Its arguments are pairs of a release and the folder of its jars; each release has a class loader of its own. A request
 * on stdin is a count, and that many texts: the release, the class, and the arguments. A response on stdout is the exit
 * code, and the bytes of stdout and stderr. Numbers are int32, texts and bytes have an int32 length.
 *
 * Tools end with System.exit, also within `try`. A security manager turns it into an Exit, and what a tool prints
 * afterwards, such as the Exit that it has caught, is dropped.
 */
public class ReleaseTools {
    static final int TIMED_OUT = 124;
    static final long TIMEOUT_MS = 60_000;

    static class Exit extends SecurityException {
    }

    /** An output that is collected for each run. */
    static class Switched extends OutputStream {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();

        @Override
        public synchronized void write(int b) {
            if (exitCode == null) {
                bytes.write(b);
            }
        }

        synchronized byte[] take() {
            byte[] taken = bytes.toByteArray();
            bytes = new ByteArrayOutputStream();
            return taken;
        }
    }

    static volatile Integer exitCode = 0;
    static volatile boolean leaving;
    static final Map<String, ClassLoader> LOADERS = new HashMap<>();
    static final Switched OUT = new Switched();
    static final Switched ERR = new Switched();

    public static void main(String[] arguments) throws Exception {
        for (int at = 0; at < arguments.length; at += 2) {
            List<URL> urls = new ArrayList<>();
            for (String folder : arguments[at + 1].split(File.pathSeparator)) {
                for (File jar : new File(folder).listFiles()) {
                    urls.add(jar.toURI().toURL());
                }
            }
            LOADERS.put(arguments[at], new URLClassLoader(urls.toArray(new URL[0]), ClassLoader.getPlatformClassLoader()));
        }
        DataOutputStream responses = new DataOutputStream(System.out);
        DataInputStream requests = new DataInputStream(System.in);
        // Before any class of Scala is loaded, because scala.Console keeps the streams that it finds.
        System.setOut(new PrintStream(OUT, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(ERR, true, StandardCharsets.UTF_8));
        System.setIn(InputStream.nullInputStream());
        System.setSecurityManager(new SecurityManager() {
            @Override
            public void checkPermission(Permission permission) {
            }

            @Override
            public void checkPermission(Permission permission, Object context) {
            }

            @Override
            public void checkExit(int code) {
                if (leaving) {
                    return;
                }
                if (exitCode == null) {
                    exitCode = code;
                }
                throw new Exit();
            }
        });
        while (true) {
            String[] request = new String[requests.readInt()];
            if (request.length == 0) {
                leaving = true;
                System.exit(0);
            }
            for (int at = 0; at < request.length; at++) {
                request[at] = new String(requests.readNBytes(requests.readInt()), StandardCharsets.UTF_8);
            }
            int code = run(LOADERS.get(request[0]), request[1], Arrays.copyOfRange(request, 2, request.length));
            responses.writeInt(code);
            for (byte[] printed : new byte[][] {OUT.take(), ERR.take()}) {
                responses.writeInt(printed.length);
                responses.write(printed);
            }
            responses.flush();
        }
    }

    static int run(ClassLoader loader, String main, String[] arguments) throws InterruptedException {
        OUT.take();
        ERR.take();
        exitCode = null;
        Thread thread = new Thread(() -> {
            try {
                Method method = Class.forName(main, true, loader).getMethod("main", String[].class);
                method.invoke(null, (Object) arguments);
                exitCode = exitCode == null ? 0 : exitCode;
            } catch (InvocationTargetException failure) {
                if (exitCode == null) {
                    System.err.print("Exception in thread \"main\" ");
                    failure.getCause().printStackTrace();
                    exitCode = 1;
                }
            } catch (ReflectiveOperationException failure) {
                System.err.println(failure);
                exitCode = 99;
            }
        });
        thread.setDaemon(true);
        thread.setContextClassLoader(loader);
        thread.start();
        thread.join(TIMEOUT_MS);
        if (exitCode == null) {
            exitCode = TIMED_OUT;
            thread.interrupt();
        }
        return exitCode;
    }
}
