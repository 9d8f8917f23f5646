// Prints record batches and message sets made by the kafka-clients library, one per line:
// name, hex. Compile and run with kafka-clients 4.4.0 and its dependencies on the class path;
// the output is tests/golden/record/java-batches.tsv.
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.message.*;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;

public class RecordGoldens {
    static final long TS = 1700000000000L;

    static void print(String name, ByteBuffer b) {
        b = b.duplicate();
        StringBuilder s = new StringBuilder(name).append('\t');
        while (b.hasRemaining())
            s.append(String.format("%02x", b.get()));
        System.out.println(s);
    }

    static byte[] text(String s) {
        return s.getBytes(StandardCharsets.UTF_8);
    }

    static void fill(MemoryRecordsBuilder b, boolean headers) {
        for (int i = 0; i < 5; i++) {
            byte[] key = i == 2 ? null : text("key" + i);
            byte[] value = i == 3 ? null : text(("value " + i + " ").repeat(12));
            Header[] h = headers && i == 1
                ? new Header[] {new RecordHeader("h1", text("x")), new RecordHeader("h2", (byte[]) null)}
                : new Header[0];
            b.append(TS + i * 10, key == null ? null : ByteBuffer.wrap(key),
                value == null ? null : ByteBuffer.wrap(value), h);
        }
        b.close();
    }

    static Compression of(CompressionType t) {
        return Compression.of(t).build();
    }

    public static void main(String[] args) {
        for (CompressionType t : CompressionType.values()) {
            MemoryRecordsBuilder b = MemoryRecords.builder(ByteBuffer.allocate(4096), (byte) 2, of(t),
                TimestampType.CREATE_TIME, 7L, -1L, 4000L, (short) 3, 11, true, false, 9);
            fill(b, true);
            print("v2-" + t.name, b.build().buffer());
            if (t == CompressionType.ZSTD)
                continue;
            for (byte magic = 0; magic < 2; magic++) {
                b = MemoryRecords.builder(ByteBuffer.allocate(4096), magic, of(t),
                    TimestampType.CREATE_TIME, 100L, -1L, -1L, (short) -1, -1, false, false, -1);
                fill(b, false);
                print("v" + magic + "-" + t.name, b.build().buffer());
            }
        }
        MemoryRecordsBuilder b = MemoryRecords.builder(ByteBuffer.allocate(4096), (byte) 1,
            of(CompressionType.LZ4), TimestampType.LOG_APPEND_TIME, 100L, TS + 99, -1L, (short) -1, -1,
            false, false, -1);
        fill(b, false);
        print("v1-lz4-append-time", b.build().buffer());
        b = MemoryRecords.builder(ByteBuffer.allocate(4096), (byte) 2, Compression.NONE,
            TimestampType.LOG_APPEND_TIME, 7L, TS + 99, -1L, (short) -1, -1, false, false, -1);
        fill(b, true);
        print("v2-append-time", b.build().buffer());
        for (ControlRecordType t : new ControlRecordType[] {ControlRecordType.ABORT, ControlRecordType.COMMIT})
            print("end-txn-" + t.name().toLowerCase(), MemoryRecords.withEndTransactionMarker(42L, TS, 5,
                4000L, (short) 3, new EndTransactionMarker(t, 8)).buffer());
        LeaderChangeMessage leader = new LeaderChangeMessage().setVersion((short) 0).setLeaderId(3)
            .setVoters(List.of(new LeaderChangeMessage.Voter().setVoterId(3),
                new LeaderChangeMessage.Voter().setVoterId(4)))
            .setGrantingVoters(List.of(new LeaderChangeMessage.Voter().setVoterId(4)));
        print("leader-change", MemoryRecords.withLeaderChangeMessage(6L, TS, 2, ByteBuffer.allocate(500),
            leader).buffer());
        print("snapshot-header", MemoryRecords.withSnapshotHeaderRecord(0L, TS, 2, ByteBuffer.allocate(500),
            new SnapshotHeaderRecord().setVersion((short) 0).setLastContainedLogTimestamp(TS - 5)).buffer());
        print("snapshot-footer", MemoryRecords.withSnapshotFooterRecord(9L, TS, 2, ByteBuffer.allocate(500),
            new SnapshotFooterRecord().setVersion((short) 0)).buffer());
        print("kraft-version", MemoryRecords.withKRaftVersionRecord(1L, TS, 2, ByteBuffer.allocate(500),
            new KRaftVersionRecord().setVersion((short) 0).setKRaftVersion((short) 1)).buffer());
        VotersRecord.Endpoint e = new VotersRecord.Endpoint().setName("CONTROLLER").setHost("localhost").setPort(9093);
        VotersRecord.EndpointCollection c = new VotersRecord.EndpointCollection();
        c.add(e);
        VotersRecord voters = new VotersRecord().setVersion((short) 0).setVoters(List.of(new VotersRecord.Voter()
            .setVoterId(1).setVoterDirectoryId(new Uuid(0x0102030405060708L, 0x090a0b0c0d0e0f10L)).setEndpoints(c)
            .setKRaftVersionFeature(new VotersRecord.KRaftVersionFeature().setMinSupportedVersion((short) 0)
                .setMaxSupportedVersion((short) 1))));
        print("voters", MemoryRecords.withVotersRecord(2L, TS, 2, ByteBuffer.allocate(500), voters).buffer());
    }
}
