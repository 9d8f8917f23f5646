/* The controller's decisions, common part. A decision is pure: it reads the newest image (committed
 * or not), appends records to `records` and fills the response; it changes nothing else. The quorum
 * driver (repl/quorum.h) replays the records, appends them in one write and tells the caller when
 * they are committed, which is when the response may be sent.
 *
 * Requests and responses are the decoded wire structs; responses live in `arena` together with
 * their strings. A response with an error for one item still carries the records of the others, as
 * in Kafka. Authorization is the handler's: it filters what it passes in. */
#ifndef KLAMM_META_CONTROLLER_H
#define KLAMM_META_CONTROLLER_H

#include "base/arena.h"
#include "base/err.h"
#include "conf/dynamic.h"
#include "meta/image.h"
#include "meta/records.h"

/* Highest number of records (or partitions) that one request may cause. */
enum { CONTROLLER_RECORDS_MAX = 10000 };

struct controller_settings {
    int32_t node_id;
    const struct config *config; /* static configuration of this node (conf/config.h) */
    bool kraft_dynamic;          /* the quorum has kraft.version 1: voters live in the log */
};

struct controller {
    const struct controller_settings *settings;
    const struct meta_image *image; /* newest root; what this decision may rely on */
    struct arena *arena;
    struct meta_records *records; /* out */
    bool kraft_upgrade;           /* out: to kraft.version 1, whose records are the driver's */
    int64_t offset_next;          /* the offset that the first record will get */
    int64_t now_ms;               /* wall clock */
    void (*random)(void *context, void *ret_bytes, size_t size); /* the seam's randomness */
    void *random_context;

    /* private: see controller_init */
    struct meta_image *owned; /* what `image` is, once records were replayed */
    int32_t applied;          /* records that `image` has */
    struct config *effective;
    struct controller_names *names; /* of the topics of `image`; NULL until somebody asks */
};

/* Prepares `c` for one decision: the caller has set everything above `owned`. */
void controller_init(struct controller *c);
/* The root after the decision: `image` with all records replayed. Returns a reference. */
struct meta_image *controller_finish(struct controller *c, struct meta_provenance provenance);
/* Frees what a decision took; after controller_finish or instead of it. */
void controller_fini(struct controller *c);

/* A fresh topic, incarnation or directory id that Kafka could have handed out. */
struct uuid controller_uuid(struct controller *c);

/* ---- node membership (meta/controller_brokers.c) ----------------------------------------------
 */

/* What this node tells about itself. */
struct controller_registration {
    int32_t node_id;
    struct uuid incarnation;
    struct slice rack; /* null = none */
    const struct meta_endpoint *broker_endpoints;
    int32_t broker_endpoint_count;
    const struct meta_endpoint *controller_endpoints;
    int32_t controller_endpoint_count;
    const struct uuid *dirs; /* online log directories */
    int32_t dir_count;
    /* Broker epoch in the clean shutdown files; -1 = none. When it is not that of the broker's last
     * registration, its replicas may have lost data and leave ISR and ELR (KIP-966). */
    int64_t previous_epoch;
};

/* RegisterController, RegisterBroker (fenced, epoch = its offset), the unfencing change and the
 * leader elections that follow: what a combined node writes at its start. */
void controller_register_self(struct controller *c, const struct controller_registration *self);
/* The directories that went offline: registration change, leaderless partitions. */
void controller_dirs_offline(struct controller *c, int32_t broker_id, const struct uuid *dirs,
                             int32_t dir_count);
/* The directories of a broker that get no new replicas (cordoned.log.dirs, KIP-1066). With all of
 * its directories among them, none is placed on the broker. No record of what is known already, or
 * of what the metadata.version cannot say: then they do not differ. */
void controller_cordon_dirs(struct controller *c, int32_t broker_id, const struct uuid *dirs,
                            int32_t dir_count);
bool controller_cordons_differ(const struct meta_image *image, int32_t broker_id,
                               const struct uuid *dirs, int32_t dir_count);
/* Controlled shutdown of this node: its partitions lose their leader, it is fenced. */
void controller_shutdown_self(struct controller *c, int32_t broker_id);

struct unregister_broker_request;
struct unregister_broker_response;
void controller_unregister_broker(struct controller *c,
                                  const struct unregister_broker_request *request,
                                  struct unregister_broker_response *response);

/* Tells in which directory a new replica was placed (nodes with several log.dirs: creation leaves
 * the directory unassigned). Partitions or directories that are unknown are skipped. */
struct controller_assignment {
    struct uuid topic_id;
    int32_t partition;
    struct uuid directory;
};
void controller_assign_dirs(struct controller *c, int32_t broker_id,
                            const struct controller_assignment *assignments, int32_t count);

/* ---- topics (meta/controller_topics.c, controller_partitions.c) -------------------------------
 */

struct create_topics_request;
struct create_topics_response;
void controller_create_topics(struct controller *c, const struct create_topics_request *request,
                              struct create_topics_response *response);

struct delete_topics_request;
struct delete_topics_response;
/* Takes names (versions 0-5) and topics by name or id (6+) alike. */
void controller_delete_topics(struct controller *c, const struct delete_topics_request *request,
                              int16_t version, struct delete_topics_response *response);

struct create_partitions_request;
struct create_partitions_response;
void controller_create_partitions(struct controller *c,
                                  const struct create_partitions_request *request,
                                  struct create_partitions_response *response);

/* Creates one topic on behalf of a client that named it (auto.create.topics.enable) or of a
 * coordinator: internal topics get Kafka's partitions, replication and configs from the node's
 * settings. ERR_NONE also when it exists. ret_text: the message for an error, in the arena. */
enum err controller_auto_create_topic(struct controller *c, struct slice name,
                                      struct slice *ret_text);
/* False when those that do not exist would have more partitions than one request may bring into
 * being. */
bool controller_auto_create_fits(struct controller *c, const struct slice *names, int32_t count);

/* ---- replicas (meta/controller_replicas.c) ----------------------------------------------------
 */

struct elect_leaders_request;
struct elect_leaders_response;
void controller_elect_leaders(struct controller *c, const struct elect_leaders_request *request,
                              struct elect_leaders_response *response);

struct alter_partition_reassignments_request;
struct alter_partition_reassignments_response;
void controller_alter_reassignments(struct controller *c,
                                    const struct alter_partition_reassignments_request *request,
                                    struct alter_partition_reassignments_response *response);

struct list_partition_reassignments_request;
struct list_partition_reassignments_response;
void controller_list_reassignments(struct controller *c,
                                   const struct list_partition_reassignments_request *request,
                                   struct list_partition_reassignments_response *response);

/* ---- configs (meta/controller_configs.c) ------------------------------------------------------
 */

/* A resource of IncrementalAlterConfigs or AlterConfigs and the answer to it. Every type but
 * BROKER_LOGGER, which the handler of the node itself serves. */
struct controller_alteration {
    int8_t type;
    struct slice name;
    const struct conf_op *ops;
    int32_t op_count;
    struct conf_result result; /* out */
};

/* Each resource stands for itself; the handler has refused those that are named twice. With
 * `replace` (AlterConfigs) the operations are all of kind SET, and keys that none of them names go
 * back to their default. */
void controller_alter_configs(struct controller *c, struct controller_alteration *alterations,
                              int32_t count, bool replace, bool validate_only);

/* ---- features, producer ids (meta/controller_features.c) ---------------------------------------
 */

struct update_features_request;
struct update_features_response;
void controller_update_features(struct controller *c, const struct update_features_request *request,
                                int16_t version, struct update_features_response *response);

/* The next block of producer ids for a registered broker: [*ret_first, *ret_first + *ret_count). */
enum err controller_allocate_producer_ids(struct controller *c, int32_t broker_id,
                                          int64_t broker_epoch, int64_t *ret_first,
                                          int32_t *ret_count);

/* ---- bootstrap (meta/bootstrap.h has the features and records of a new cluster) ----------------
 */

/* Begin/EndTransaction around the records of bootstrap snapshot `payloads` and what Kafka adds at
 * the first activation. Only for an image without metadata.version. */
void controller_bootstrap(struct controller *c, const struct meta_records *bootstrap);

#endif
