// Reads lines "NAME VERSION JSON" (build/tests/tools/wire_samples prints them), gives the JSON to the
// class of that name in Apache Kafka, and prints "NAME VERSION HEX JSON": the bytes that Kafka writes,
// and the JSON that Kafka makes of them after reading them back (records as sizes). JSON after "=" sets
// only what it lists: the rest has Kafka's defaults; "=" then stands before HEX.
//
//   ninja -C build tests/tools/wire_samples
//   build/tests/tools/wire_samples 3 | java -cp 'LIBS/*' tests/tools/WireGoldens.java LIBS \
//       > tests/golden/wire/messages.txt
//
// With "verdicts" behind LIBS the lines are "NAME VERSION HEX" (tests/tools/mutate_wire.py makes damaged
// messages), and what is printed after them is how many bytes Kafka's class left over, or "refused".
//
// LIBS is a folder with the jars of Apache Kafka 4.4.0 (core, tools, streams) and what they need.
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.jar.JarFile;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

public class WireGoldens {
    static final ObjectMapper MAPPER = new ObjectMapper();
    static final Map<String, String> CLASSES = new HashMap<>();

    public static void main(String[] args) throws Exception {
        indexClasses(Path.of(args[0]));
        BufferedReader in = new BufferedReader(
            new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line; (line = in.readLine()) != null; ) {
            String[] parts = line.split(" ", 3);
            try {
                short version = Short.parseShort(parts[1]);
                out.println(args.length > 1 ? line + " " + verdict(parts[0], version, parts[2])
                    : golden(parts[0], version, parts[2]));
            } catch (Throwable error) {
                System.err.println(parts[0] + " " + parts[1] + ": " + error + " " + error.getCause());
            }
        }
        out.flush();
    }

    /** Simple name of a generated class, without its "Data", to its full name. */
    static void indexClasses(Path libs) throws Exception {
        try (var paths = Files.newDirectoryStream(libs, "kafka*.jar")) {
            for (Path path : paths) {
                try (JarFile jar = new JarFile(path.toFile())) {
                    jar.stream().map(entry -> entry.getName())
                        .filter(name -> name.matches(
                            "org/apache/kafka/(common/(message|metadata)|.*/generated)/[^$]*\\.class"))
                        .map(name -> name.replace('/', '.').replaceAll("\\.class$", ""))
                        .forEach(name -> CLASSES.put(simple(name), name));
                }
            }
        }
    }

    static String simple(String name) {
        return name.substring(name.lastIndexOf('.') + 1);
    }

    static String golden(String name, short version, String json) throws Exception {
        String type = CLASSES.getOrDefault(name + "Data", CLASSES.get(name));
        if (type == null) {
            throw new RuntimeException("no such class");
        }
        boolean defaults = json.startsWith("=");
        JsonNode node = MAPPER.readTree(defaults ? json.substring(1) : json);
        Class<?> converter = null;
        try {
            converter = Class.forName(type + "JsonConverter");
        } catch (ClassNotFoundException missing) {
            // Streams' subscription has no converter.
        }
        Message message;
        if (converter != null && !defaults) {
            message = (Message) converter.getMethod("read", JsonNode.class, short.class)
                .invoke(null, node, version);
        } else {
            message = (Message) fill(Class.forName(type), node);
        }
        byte[] bytes = write(message, version);
        Message back = (Message) Class.forName(type).getConstructor().newInstance();
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        back.read(new ByteBufferAccessor(buffer), version);
        if (buffer.hasRemaining() || !HexFormat.of().formatHex(write(back, version))
                .equals(HexFormat.of().formatHex(bytes))) {
            throw new RuntimeException("does not come back");
        }
        String text = json;
        if (converter != null) {
            Method write = converter.getMethod("write", back.getClass(), short.class, boolean.class);
            text = write.invoke(null, back, version, false).toString();
        }
        return name + " " + version + " " + (defaults ? "=" : "") + HexFormat.of().formatHex(bytes) + " " + text;
    }

    static String verdict(String name, short version, String hex) throws Exception {
        String type = CLASSES.getOrDefault(name + "Data", CLASSES.get(name));
        Message message = (Message) Class.forName(type).getConstructor().newInstance();
        ByteBuffer buffer = ByteBuffer.wrap(HexFormat.of().parseHex(hex.equals("-") ? "" : hex));
        try {
            message.read(new ByteBufferAccessor(buffer), version);
            return String.valueOf(buffer.remaining());
        } catch (RuntimeException refused) {
            return "refused";
        }
    }

    static byte[] write(Message message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(buffer), cache, version);
        return buffer.array();
    }

    /** Sets an object's fields by their setters. */
    static Object fill(Class<?> type, JsonNode node) throws Exception {
        Object object = type.getConstructor().newInstance();
        for (Method setter : type.getMethods()) {
            String field = setter.getName().startsWith("set")
                ? setter.getName().substring(3, 4).toLowerCase() + setter.getName().substring(4) : "";
            if (node.has(field)) {
                setter.invoke(object, value(setter.getParameterTypes()[0],
                    setter.getGenericParameterTypes()[0], node.get(field)));
            }
        }
        return object;
    }

    static Object value(Class<?> type, java.lang.reflect.Type generic, JsonNode node)
            throws Exception {
        if (node.isNull()) return null;
        if (type == byte.class) return (byte) node.asInt();
        if (type == int.class) return node.asInt();
        if (type == long.class) return node.asLong();
        if (type == String.class) return node.asText();
        if (type == byte[].class) return node.binaryValue();
        if (type == Uuid.class) return Uuid.fromString(node.asText());
        if (Collection.class.isAssignableFrom(type)) {
            ParameterizedType items = (ParameterizedType)
                (type == List.class ? generic : type.getGenericSuperclass());
            @SuppressWarnings("unchecked")
            Collection<Object> list = type == List.class ? new ArrayList<>()
                : (Collection<Object>) type.getConstructor().newInstance();
            for (JsonNode element : node) {
                list.add(fill((Class<?>) items.getActualTypeArguments()[0], element));
            }
            return list;
        }
        return fill(type, node);
    }
}
