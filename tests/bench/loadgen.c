/* loadgen: one load on one broker, so that two brokers can be given the same work.
 *
 *   cc -O2 loadgen.c -o loadgen $(pkg-config --cflags --libs rdkafka) -lpthread
 *   loadgen produce -b HOST:PORT -t TOPIC -n COUNT -s SIZE [-p PARTITION] [-k KEYS] [-X key=value]
 *   loadgen consume -b HOST:PORT -t TOPIC -n COUNT [-p PARTITION] [-X key=value]
 *   loadgen txn     -b HOST:PORT -t TOPIC -n COUNT -s SIZE [-k PRODUCERS] [-X key=value]
 *           in transactions of 100 records
 *   loadgen single  -b HOST:PORT -t TOPIC -n COUNT -s SIZE [-k PRODUCERS]
 *           each producer sends one record, waits for its answer, and sends the next; on sockets,
 *           for fifty clients of librdkafka would be the slowest part
 *   loadgen latency -b HOST:PORT -t TOPIC -n COUNT -s SIZE -r RATE [-X key=value]
 *           end to end, produce to consume
 *
 * Prints one JSON line. Payloads are half random and half text so that compression does something.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <librdkafka/rdkafka.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const char *brokers, *topic;
static int64_t count, size = 100, rate = 1000, keys;
static int32_t partition = 0;
static char *extra[64];
static int extra_count;
static int64_t delivered, failed, bytes_in;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *what, const char *why)
{
    fprintf(stderr, "loadgen: %s: %s\n", what, why);
    exit(1);
}

static void set(rd_kafka_conf_t *conf, const char *key, const char *value)
{
    char why[512];
    if (rd_kafka_conf_set(conf, key, value, why, sizeof why) != RD_KAFKA_CONF_OK)
        die(key, why);
}

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque)
{
    (void)rk;
    (void)opaque;
    if (m->err)
        failed++;
    else
        delivered++;
}

static rd_kafka_conf_t *conf_new(int producer)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set(conf, "bootstrap.servers", brokers);
    if (producer) {
        set(conf, "queue.buffering.max.messages", "1000000");
        set(conf, "queue.buffering.max.kbytes", "1048576");
        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
    } else {
        set(conf, "group.id", "loadgen");
        set(conf, "enable.auto.commit", "false");
        set(conf, "enable.partition.eof", "false");
        set(conf, "queued.max.messages.kbytes", "262144");
    }
    for (int i = 0; i < extra_count; i++) {
        char *eq = strchr(extra[i], '=');
        if (!eq)
            die("-X", extra[i]);
        *eq = 0;
        set(conf, extra[i], eq + 1);
        *eq = '=';
    }
    return conf;
}

static rd_kafka_t *client(int producer)
{
    char why[512];
    rd_kafka_t *rk = rd_kafka_new(producer ? RD_KAFKA_PRODUCER : RD_KAFKA_CONSUMER,
                                  conf_new(producer), why, sizeof why);
    if (!rk)
        die("rd_kafka_new", why);
    return rk;
}

static char *payload(void)
{
    static const char words[] =
        "{\"user\":\"someone\",\"event\":\"page_view\",\"path\":\"/index.html\",\"n\":";
    char *p = malloc((size_t)size + 64);
    srand(42);
    for (int64_t i = 0; i < size; i++)
        p[i] = i % 128 < 64 ? words[i % (int64_t)(sizeof words - 1)] : (char)(33 + rand() % 90);
    return p;
}

static void do_produce(void)
{
    rd_kafka_t *rk = client(1);
    rd_kafka_topic_t *rkt = rd_kafka_topic_new(rk, topic, NULL);
    char *p = payload(), key[32];
    double t0 = now();
    for (int64_t i = 0; i < count; i++) {
        size_t key_size =
            keys ? (size_t)snprintf(key, sizeof key, "k%" PRId64, (i * 7919) % keys) : 0;
        while (rd_kafka_produce(rkt, keys ? RD_KAFKA_PARTITION_UA : partition, RD_KAFKA_MSG_F_COPY,
                                p, (size_t)size, keys ? key : NULL, key_size, NULL))
            rd_kafka_poll(rk, 5);
        if (i % 1000 == 0)
            rd_kafka_poll(rk, 0);
    }
    rd_kafka_flush(rk, 120000);
    double t = now() - t0;
    printf("{\"op\":\"produce\",\"delivered\":%" PRId64 ",\"failed\":%" PRId64
           ",\"secs\":%.3f,\"msgs_s\":%.0f,\"mb_s\":%.2f}\n",
           delivered, failed + count - delivered - failed, t, (double)delivered / t,
           (double)(delivered * size) / t / 1e6);
    rd_kafka_topic_destroy(rkt);
    rd_kafka_destroy(rk);
}

static void do_consume(void)
{
    rd_kafka_t *rk = client(0);
    rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(l, topic, partition)->offset = RD_KAFKA_OFFSET_BEGINNING;
    rd_kafka_assign(rk, l);
    rd_kafka_queue_t *q = rd_kafka_queue_get_consumer(rk);
    static rd_kafka_message_t *ms[10000];
    int64_t n = 0;
    double t0 = 0, idle = now();
    while (n < count) {
        ssize_t r = rd_kafka_consume_batch_queue(q, 100, ms, 10000);
        if (r <= 0) {
            if (now() - idle > 30)
                die("consume", "nothing for 30 s");
            continue;
        }
        idle = now();
        if (t0 == 0)
            t0 = idle;
        for (ssize_t i = 0; i < r; i++) {
            if (!ms[i]->err) {
                n++;
                bytes_in += (int64_t)ms[i]->len;
            }
            rd_kafka_message_destroy(ms[i]);
        }
    }
    double t = now() - t0;
    printf("{\"op\":\"consume\",\"msgs\":%" PRId64
           ",\"secs\":%.3f,\"msgs_s\":%.0f,\"mb_s\":%.2f}\n",
           n, t, (double)n / t, (double)bytes_in / t / 1e6);
    rd_kafka_queue_destroy(q);
    rd_kafka_topic_partition_list_destroy(l);
    rd_kafka_consumer_close(rk);
    rd_kafka_destroy(rk);
}

enum { TXN_RECORDS = 100 };

static void must(rd_kafka_error_t *error, const char *what)
{
    if (error)
        die(what, rd_kafka_error_string(error));
}

/* One transactional producer; arg is its number. */
static void *txn_producer(void *arg)
{
    char why[512], id[64];
    rd_kafka_conf_t *conf = conf_new(1);
    snprintf(id, sizeof id, "%s-%d", topic, (int)(intptr_t)arg);
    set(conf, "transactional.id", id);
    set(conf, "linger.ms", "0");
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof why);
    if (!rk)
        die("rd_kafka_new", why);
    must(rd_kafka_init_transactions(rk, 60000), "init_transactions");
    rd_kafka_topic_t *rkt = rd_kafka_topic_new(rk, topic, NULL);
    char *p = payload();
    int64_t share = count / (keys ? keys : 1) / TXN_RECORDS;
    for (int64_t t = 0; t < share; t++) {
        must(rd_kafka_begin_transaction(rk), "begin_transaction");
        for (int i = 0; i < TXN_RECORDS; i++)
            rd_kafka_produce(rkt, partition, RD_KAFKA_MSG_F_COPY, p, (size_t)size, NULL, 0, NULL);
        must(rd_kafka_commit_transaction(rk, 60000), "commit_transaction");
    }
    rd_kafka_topic_destroy(rkt);
    rd_kafka_destroy(rk);
    return NULL;
}

static void do_txn(void)
{
    pthread_t threads[64];
    int64_t producers = keys ? keys : 1;
    if (producers > 64)
        die("txn", "64 producers at most");
    double t0 = now();
    for (int64_t i = 0; i < producers; i++)
        pthread_create(&threads[i], NULL, txn_producer, (void *)(intptr_t)i);
    for (int64_t i = 0; i < producers; i++)
        pthread_join(threads[i], NULL);
    double t = now() - t0;
    int64_t txns = count / producers / TXN_RECORDS * producers;
    printf("{\"op\":\"txn\",\"txns\":%" PRId64 ",\"secs\":%.3f,\"txns_s\":%.0f,\"msgs_s\":%.0f}\n",
           txns, t, (double)txns / t, (double)(txns * TXN_RECORDS) / t);
}

/* A frame being written: integers are big-endian. */
struct frame {
    unsigned char *bytes;
    size_t size;
};

static void put(struct frame *f, int64_t value, int width)
{
    for (int i = width - 1; i >= 0; i--)
        f->bytes[f->size++] = (unsigned char)((uint64_t)value >> (8 * i));
}

static void put_bytes(struct frame *f, const void *bytes, size_t n)
{
    memcpy(f->bytes + f->size, bytes, n);
    f->size += n;
}

static void put_varint(struct frame *f, int64_t value)
{
    uint64_t v = ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
    for (; v >= 0x80; v >>= 7)
        put(f, (int64_t)(v & 0x7f) | 0x80, 1);
    put(f, (int64_t)v, 1);
}

static uint32_t crc32c(const unsigned char *p, size_t n)
{
    uint32_t crc = ~0u;
    while (n--) {
        crc ^= *p++;
        for (int i = 0; i < 8; i++)
            crc = (crc >> 1) ^ (0x82f63b78u & (0u - (crc & 1)));
    }
    return ~crc;
}

static void put_at(struct frame *f, size_t at, int64_t value, int width)
{
    struct frame there = {f->bytes, at};
    put(&there, value, width);
}

/* One record batch of format 2 with one record: key null, no headers. */
static void put_batch(struct frame *f, const char *value)
{
    size_t start = f->size, crc_at;
    int64_t now_ms = (int64_t)time(NULL) * 1000;
    struct frame body = {malloc((size_t)size + 64), 0};
    put(&body, 0, 1);
    put_varint(&body, 0);
    put_varint(&body, 0);
    put_varint(&body, -1);
    put_varint(&body, size);
    put_bytes(&body, value, (size_t)size);
    put_varint(&body, 0);
    put(f, 0, 8);  /* base offset */
    put(f, 0, 4);  /* length, below */
    put(f, -1, 4); /* leader epoch */
    put(f, 2, 1);
    crc_at = f->size;
    put(f, 0, 4);
    put(f, 0, 2); /* attributes */
    put(f, 0, 4); /* last offset delta */
    put(f, now_ms, 8);
    put(f, now_ms, 8);
    put(f, -1, 8); /* producer id */
    put(f, -1, 2);
    put(f, -1, 4);
    put(f, 1, 4); /* records */
    put_varint(f, (int64_t)body.size);
    put_bytes(f, body.bytes, body.size);
    put_at(f, start + 8, (int64_t)(f->size - start - 12), 4);
    put_at(f, crc_at, crc32c(f->bytes + crc_at + 4, f->size - crc_at - 4), 4);
    free(body.bytes);
}

/* A Produce request of version 7 with acks=all. */
static struct frame produce_frame(const char *value)
{
    size_t name = strlen(topic), batch_at;
    struct frame f = {malloc((size_t)size + name + 256), 0};
    put(&f, 0, 4); /* size, below */
    put(&f, 0, 2);
    put(&f, 7, 2);
    put(&f, 1, 4);  /* correlation id */
    put(&f, -1, 2); /* client id */
    put(&f, -1, 2); /* transactional id */
    put(&f, -1, 2); /* acks */
    put(&f, 30000, 4);
    put(&f, 1, 4);
    put(&f, (int64_t)name, 2);
    put_bytes(&f, topic, name);
    put(&f, 1, 4);
    put(&f, partition, 4);
    batch_at = f.size;
    put(&f, 0, 4);
    put_batch(&f, value);
    put_at(&f, batch_at, (int64_t)(f.size - batch_at - 4), 4);
    put_at(&f, 0, (int64_t)(f.size - 4), 4);
    return f;
}

static int dial(void)
{
    char host[256];
    const char *colon = strrchr(brokers, ':');
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
    int on = 1;
    if (!colon || (size_t)(colon - brokers) >= sizeof host)
        die("-b", "HOST:PORT");
    snprintf(host, sizeof host, "%.*s", (int)(colon - brokers), brokers);
    if (getaddrinfo(host, colon + 1, &hints, &found))
        die(brokers, "unknown host");
    int fd = socket(found->ai_family, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, found->ai_addr, found->ai_addrlen))
        die(brokers, strerror(errno));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    freeaddrinfo(found);
    return fd;
}

/* Reads one answer, which comes whole or nearly so, and ends the program unless it tells of no
 * error. */
static void expect_ack(int fd)
{
    unsigned char b[1024];
    size_t have = 0, want = 4, error_at = 4 + 4 + 4 + 2 + strlen(topic) + 4 + 4;
    while (have < want) {
        ssize_t r = read(fd, b + have, sizeof b - have);
        if (r <= 0)
            die("single", "connection lost");
        have += (size_t)r;
        if (have >= 4)
            want = 4 + ((size_t)b[0] << 24 | (size_t)b[1] << 16 | (size_t)b[2] << 8 | b[3]);
        if (want > sizeof b)
            die("single", "answer too large");
    }
    if (have < error_at + 2 || b[error_at] || b[error_at + 1])
        die("single", "the answer tells of an error");
}

static void send_whole(int fd, const struct frame *f)
{
    if (write(fd, f->bytes, f->size) != (ssize_t)f->size)
        die("single", "connection lost");
}

static void do_single(void)
{
    enum { PRODUCERS_MAX = 1000 };
    static struct pollfd fds[PRODUCERS_MAX];
    int64_t producers = keys ? keys : 1, sent = 0, acked = 0;
    if (producers > PRODUCERS_MAX)
        die("single", "1000 producers at most");
    char *value = payload();
    struct frame f = produce_frame(value);
    for (int64_t i = 0; i < producers; i++)
        fds[i] = (struct pollfd){dial(), POLLIN, 0};
    double t0 = now();
    for (int64_t i = 0; i < producers && sent < count; i++, sent++)
        send_whole(fds[i].fd, &f);
    while (acked < sent) {
        if (poll(fds, (nfds_t)producers, 60000) <= 0)
            die("single", "nothing for 60 s");
        for (int64_t i = 0; i < producers; i++) {
            if (!fds[i].revents)
                continue;
            expect_ack(fds[i].fd);
            acked++;
            if (sent < count) {
                send_whole(fds[i].fd, &f);
                sent++;
            }
        }
    }
    double t = now() - t0;
    printf("{\"op\":\"single\",\"acked\":%" PRId64 ",\"secs\":%.3f,\"msgs_s\":%.0f}\n", acked, t,
           (double)acked / t);
}

static double *samples;
static int64_t got;

static void *reader(void *arg)
{
    rd_kafka_t *rk = arg;
    double idle = now();
    while (got < count && now() - idle < 20) {
        rd_kafka_message_t *m = rd_kafka_consumer_poll(rk, 100);
        if (!m)
            continue;
        if (!m->err && m->len >= sizeof(double)) {
            double sent;
            memcpy(&sent, m->payload, sizeof sent);
            idle = now();
            samples[got++] = (idle - sent) * 1e3;
        }
        rd_kafka_message_destroy(m);
    }
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void do_latency(void)
{
    samples = calloc((size_t)count, sizeof *samples);
    rd_kafka_t *p = client(1), *c;
    extra_count = 0;
    extra[extra_count++] = strdup("fetch.wait.max.ms=100");
    c = client(0);
    rd_kafka_topic_t *rkt = rd_kafka_topic_new(p, topic, NULL);
    char *buf = payload();
    rd_kafka_produce(rkt, partition, RD_KAFKA_MSG_F_COPY, "x", 1, NULL, 0,
                     NULL); /* creates the topic, warms up */
    rd_kafka_flush(p, 20000);
    rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(l, topic, partition)->offset = RD_KAFKA_OFFSET_END;
    rd_kafka_assign(c, l);
    sleep(2);
    pthread_t th;
    pthread_create(&th, NULL, reader, c);
    double t0 = now();
    for (int64_t i = 0; i < count; i++) {
        double due = t0 + (double)i / (double)rate, t;
        while ((t = now()) < due) {
            rd_kafka_poll(p, 0);
            struct timespec nap = {0, 20000};
            nanosleep(&nap, NULL);
        }
        memcpy(buf, &t, sizeof t);
        rd_kafka_produce(rkt, partition, RD_KAFKA_MSG_F_COPY, buf, (size_t)size, NULL, 0, NULL);
    }
    rd_kafka_flush(p, 20000);
    pthread_join(th, NULL);
    qsort(samples, (size_t)got, sizeof *samples, by_value);
    if (!got)
        die("latency", "nothing received");
    printf("{\"op\":\"latency\",\"got\":%" PRId64 ",\"of\":%" PRId64
           ",\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"p999_ms\":%.3f,\"max_ms\":%.3f}\n",
           got, count, samples[got / 2], samples[got * 99 / 100], samples[got * 999 / 1000],
           samples[got - 1]);
    rd_kafka_destroy(c);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        die("usage", "see the head of loadgen.c");
    const char *op = argv[1];
    int c;
    optind = 2;
    while ((c = getopt(argc, argv, "b:t:n:s:p:k:r:X:")) != -1)
        switch (c) {
        case 'b': brokers = optarg; break;
        case 't': topic = optarg; break;
        case 'n': count = atoll(optarg); break;
        case 's': size = atoll(optarg); break;
        case 'p': partition = atoi(optarg); break;
        case 'k': keys = atoll(optarg); break;
        case 'r': rate = atoll(optarg); break;
        case 'X':
            if (extra_count < 60)
                extra[extra_count++] = strdup(optarg);
            break;
        default: return 2;
        }
    if (!brokers || !topic || count < 1 || size < 8)
        die("usage", "-b, -t and -n are needed; -s is 8 or more");
    if (!strcmp(op, "produce"))
        do_produce();
    else if (!strcmp(op, "consume"))
        do_consume();
    else if (!strcmp(op, "txn"))
        do_txn();
    else if (!strcmp(op, "single"))
        do_single();
    else if (!strcmp(op, "latency"))
        do_latency();
    else
        die("usage", op);
    return 0;
}
