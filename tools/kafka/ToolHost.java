import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.security.Permission;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * Runs the main methods of command-line tools one after the other, each as if it had a process of its own.
 *
 * <p>What a tool's threads print is kept for its answer; what they print after it ended is dropped. A call of exit runs the
 * shutdown hooks that the tool added, and lets nothing of it go on. System properties are those of before for the next.
 *
 * <p>Request, on the standard input: class path, class name, count of arguments, arguments, standard input. Answer, on the
 * standard output: exit status, standard output, standard error. Counts and the status are int32, big-endian; all else is an
 * int32 of its length and as many bytes of UTF-8. The end of the standard input ends the process.
 */
@SuppressWarnings({"removal", "deprecation"})
public final class ToolHost {
    private record Request(String classPath, String className, String[] arguments, byte[] input) {}

    /** Ends a tool's thread; nobody catches a ThreadDeath, as it would be caught by mistake. */
    private static final class Ended extends ThreadDeath {
        private static final long serialVersionUID = 1;
    }

    /** One run of a tool: its threads are those of its group. */
    private static final class Call extends ThreadGroup {
        final ByteArrayOutputStream out = new ByteArrayOutputStream();
        final ByteArrayOutputStream err = new ByteArrayOutputStream();
        final InputStream in;
        final CountDownLatch answered = new CountDownLatch(1);
        private Integer status;

        Call(byte[] input) {
            super("tool");
            in = new ByteArrayInputStream(input);
        }

        /** The call that a thread works for, or null. */
        static Call current() {
            for (ThreadGroup group = Thread.currentThread().getThreadGroup(); group != null; group = group.getParent()) {
                if (group instanceof Call call) {
                    return call;
                }
            }
            return null;
        }

        synchronized void end(int newStatus) {
            if (status == null) {
                status = newStatus;
            }
            notifyAll();
        }

        synchronized int awaitStatus() throws InterruptedException {
            while (status == null) {
                wait();
            }
            return status;
        }
    }

    private static final class Output extends OutputStream {
        private final boolean isError;

        Output(boolean isError) {
            this.isError = isError;
        }

        @Override
        public void write(int each) {
            write(new byte[] {(byte) each}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int start, int count) {
            Call call = Call.current();
            if (call != null) {
                (isError ? call.err : call.out).write(bytes, start, count);
            }
        }
    }

    private static final class Input extends InputStream {
        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        @Override
        public int read(byte[] bytes, int start, int count) throws IOException {
            Call call = Call.current();
            return call == null ? -1 : call.in.read(bytes, start, count);
        }

        @Override
        public int available() throws IOException {
            Call call = Call.current();
            return call == null ? 0 : call.in.available();
        }
    }

    /** Loads a tool's own classes anew, as some count in static fields; all others are those of the runs before. */
    private static final class Fresh extends ClassLoader {
        private final String className;

        Fresh(ClassLoader parent, String className) {
            super(parent);
            this.className = className;
        }

        @Override
        protected Class<?> loadClass(String name, boolean isResolved) throws ClassNotFoundException {
            boolean isOwn = name.equals(className) || name.startsWith(className + "$");
            // ZooKeeper's shell uses what is private to its package, and that is another by another loader.
            if (!isOwn || name.startsWith("org.apache.zookeeper.")) {
                return super.loadClass(name, isResolved);
            }
            Class<?> loaded = findLoadedClass(name);
            return loaded == null ? define(name) : loaded;
        }

        private Class<?> define(String name) throws ClassNotFoundException {
            try (InputStream file = getResourceAsStream(name.replace('.', '/') + ".class")) {
                if (file == null) {
                    throw new ClassNotFoundException(name);
                }
                byte[] bytes = file.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException error) {
                throw new ClassNotFoundException(name, error);
            }
        }
    }

    private static final class Guard extends SecurityManager {
        @Override
        public void checkExit(int status) {
            Call call = Call.current();
            if (call == null) {
                return;
            }
            call.end(status);
            try {
                // As the real one, it returns to nobody: first the answer is taken.
                call.answered.await();
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
            }
            throw new Ended();
        }

        @Override
        public void checkPermission(Permission permission) {}

        @Override
        public void checkPermission(Permission permission, Object context) {}
    }

    private final DataOutputStream answers = new DataOutputStream(System.out);
    private final Map<String, ClassLoader> loaders = new HashMap<>();
    private final Map<Thread, Thread> hooks;

    @SuppressWarnings("unchecked")
    private ToolHost() throws ReflectiveOperationException {
        Field field = Class.forName("java.lang.ApplicationShutdownHooks").getDeclaredField("hooks");
        field.setAccessible(true);
        hooks = (Map<Thread, Thread>) field.get(null);
    }

    public static void main(String[] none) throws Exception {
        ToolHost host = new ToolHost();
        DataInputStream input = new DataInputStream(System.in);
        System.setOut(new PrintStream(new Output(false), true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(new Output(true), true, StandardCharsets.UTF_8));
        System.setIn(new Input());
        System.setSecurityManager(new Guard());
        BlockingQueue<Request> requests = new LinkedBlockingQueue<>();
        new Thread(() -> read(input, requests)).start();
        while (true) {
            host.answer(requests.take());
        }
    }

    private static void read(DataInputStream input, BlockingQueue<Request> requests) {
        try {
            while (true) {
                String classPath = text(input);
                String className = text(input);
                String[] arguments = new String[input.readInt()];
                for (int index = 0; index < arguments.length; index++) {
                    arguments[index] = text(input);
                }
                requests.add(new Request(classPath, className, arguments, input.readNBytes(input.readInt())));
            }
        } catch (IOException error) {
            Runtime.getRuntime().halt(error instanceof EOFException ? 0 : 1);
        }
    }

    private static String text(DataInputStream input) throws IOException {
        return new String(input.readNBytes(input.readInt()), StandardCharsets.UTF_8);
    }

    private void answer(Request request) throws IOException, InterruptedException {
        Properties properties = (Properties) System.getProperties().clone();
        Set<Thread> before = new HashSet<>(hooks.keySet());
        Call call = new Call(request.input());
        new Thread(call, () -> run(call, request), "main").start();
        int status = call.awaitStatus();
        List<Thread> added = new ArrayList<>(hooks.keySet());
        added.removeAll(before);
        hooks.keySet().removeAll(added);
        for (Thread hook : added) {
            hook.start();
        }
        for (Thread hook : added) {
            hook.join();
        }
        byte[] out = call.out.toByteArray();
        byte[] err = call.err.toByteArray();
        call.answered.countDown();
        System.setProperties(properties);
        answers.writeInt(status);
        answers.writeInt(out.length);
        answers.write(out);
        answers.writeInt(err.length);
        answers.write(err);
        answers.flush();
    }

    private void run(Call call, Request request) {
        int status = 1;
        try {
            ClassLoader shared = loaders.computeIfAbsent(request.classPath(), ToolHost::loader);
            ClassLoader loader = new Fresh(shared, request.className());
            Thread.currentThread().setContextClassLoader(loader);
            Method main = Class.forName(request.className(), true, loader).getMethod("main", String[].class);
            main.invoke(null, (Object) request.arguments());
            status = 0;
        } catch (InvocationTargetException error) {
            if (error.getCause() instanceof Ended) {
                return;
            }
            System.err.print("Exception in thread \"main\" ");
            error.getCause().printStackTrace();
        } catch (ReflectiveOperationException error) {
            error.printStackTrace();
        }
        awaitOthers(call);
        call.end(status);
    }

    /** Wait for the threads that keep a process alive when its main method has returned. */
    private static void awaitOthers(Call call) {
        Thread[] threads = new Thread[call.activeCount() + 10];
        int count = call.enumerate(threads);
        for (int index = 0; index < count; index++) {
            if (!threads[index].isDaemon() && threads[index] != Thread.currentThread()) {
                try {
                    threads[index].join();
                } catch (InterruptedException error) {
                    return;
                }
            }
        }
    }

    /** Load classes from directories and from all jars of the directories that end in "*". */
    private static ClassLoader loader(String classPath) {
        List<URL> urls = new ArrayList<>();
        try {
            for (String entry : classPath.split(File.pathSeparator)) {
                if (!entry.endsWith("*")) {
                    urls.add(new File(entry).toURI().toURL());
                    continue;
                }
                for (File jar : new File(entry.substring(0, entry.length() - 1)).listFiles()) {
                    urls.add(jar.toURI().toURL());
                }
            }
        } catch (IOException error) {
            throw new IllegalArgumentException(error);
        }
        return new URLClassLoader(urls.toArray(new URL[0]), ClassLoader.getPlatformClassLoader());
    }
}
