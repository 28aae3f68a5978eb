// Replays a recorded input through Siddhi in this JVM and prints what it cost, as one JSON object.
//
//   java -cp 'JARS/*' Replay.java APP EVENTS REPEATS
//
// APP is a Siddhi application whose first lines are comments: `-- in NAME COLUMNS` for each input stream, in the order of the
// numbers that EVENTS uses, and `-- out NAME` for each stream whose events are counted. EVENTS is binary, big-endian:
// the number of events, then for each the number of its stream, its event time in microseconds and its columns,
// all as 64-bit integers. The whole input is replayed REPEATS times, each time by a new runtime of the same
// application, so that the last runs are compiled code; each run's CPU time is that of the whole process.

import io.siddhi.core.SiddhiAppRuntime;
import io.siddhi.core.SiddhiManager;
import io.siddhi.core.event.Event;
import io.siddhi.core.stream.input.InputHandler;
import io.siddhi.core.stream.output.StreamCallback;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;

public final class Replay {
    private record Input(String name, int columns) {}

    private record Recorded(int stream, Event event) {}

    public static void main(String[] arguments) throws Exception {
        String application = Files.readString(Path.of(arguments[0]));
        List<Input> inputs = new ArrayList<>();
        List<String> outputs = new ArrayList<>();
        for (String line : application.lines().toList()) {
            String[] words = line.split(" ");
            if (line.startsWith("-- in ")) {
                inputs.add(new Input(words[2], Integer.parseInt(words[3])));
            } else if (line.startsWith("-- out ")) {
                outputs.add(words[2]);
            }
        }
        List<Recorded> events = read(Path.of(arguments[1]), inputs);
        StringBuilder seconds = new StringBuilder();
        long results = 0;
        for (int run = 0; run < Integer.parseInt(arguments[2]); run++) {
            LongAdder counted = new LongAdder();
            double took = replay(application, inputs, outputs, events, counted);
            seconds.append(run == 0 ? "" : ", ").append(took);
            results = counted.sum();
        }
        System.out.printf("{\"cpu_s\": [%s], \"tuples\": %d, \"results\": %d}%n", seconds, events.size(), results);
        System.exit(0); // Siddhi keeps threads that are not daemons
    }

    private static double replay(
            String application, List<Input> inputs, List<String> outputs, List<Recorded> events, LongAdder counted)
            throws InterruptedException {
        SiddhiAppRuntime runtime = new SiddhiManager().createSiddhiAppRuntime(application);
        for (String output : outputs) {
            runtime.addCallback(output, new StreamCallback() {
                @Override
                public void receive(Event[] found) {
                    counted.add(found.length);
                }
            });
        }
        InputHandler[] handlers = new InputHandler[inputs.size()];
        for (int at = 0; at < handlers.length; at++) {
            handlers[at] = runtime.getInputHandler(inputs.get(at).name());
        }
        runtime.start();
        long before = cpuNanoseconds();
        for (Recorded each : events) {
            handlers[each.stream()].send(each.event());
        }
        long after = cpuNanoseconds();
        runtime.shutdown();
        return (after - before) / 1e9;
    }

    private static List<Recorded> read(Path path, List<Input> inputs) throws IOException {
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(Files.newInputStream(path), 1 << 20))) {
            int count = (int) in.readLong();
            List<Recorded> events = new ArrayList<>(count);
            for (int at = 0; at < count; at++) {
                int stream = (int) in.readLong();
                long microseconds = in.readLong();
                Object[] values = new Object[inputs.get(stream).columns()];
                values[0] = microseconds;
                for (int column = 1; column < values.length; column++) {
                    values[column] = in.readLong();
                }
                events.add(new Recorded(stream, new Event(microseconds / 1000, values)));
            }
            return events;
        }
    }

    private static long cpuNanoseconds() {
        var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        return system.getProcessCpuTime();
    }
}
