/* IncrementalAlterConfigs and AlterConfigs; see controller.h. The rules for values are conf's
 * (conf/dynamic.h); here are resources: which exist, which may be named. Each stands for itself.
 *
 * While eligible leader replicas are on, min.insync.replicas decides who is eligible: it must be
 * set for the whole cluster and not for single brokers, and each change of it empties the ELR of
 * the topics concerned (ClearElrRecord). */
#include "meta/controller_internal.h"

#include "meta/topic_name.h"

#include "wire_metadata_records.h"

bool controller_elr_enabled(const struct controller *c)
{
    return meta_image_feature(c->image, FEATURE_ELR_VERSION) > 0 &&
           (controller_version(c)->flags & META_HAS_ELR);
}

void controller_add_configs(struct controller *c, int8_t type, struct slice resource,
                            struct conf_changes changes)
{
    bool min_isr = false;
    for (int32_t i = 0; i < changes.count; i++) {
        struct config_record r;
        wire_init(&wire_config_record, &r);
        r.resource_type = type;
        r.resource_name = resource;
        r.name = changes.items[i].name;
        r.value = changes.items[i].value;
        meta_records_add(c->records, &wire_config_record, 0, &r);
        min_isr = min_isr || slice_eq(r.name, MIN_ISR);
    }
    bool whole_cluster = type == META_RESOURCE_BROKER && resource.size == 0;
    if (!min_isr || !controller_elr_enabled(c) || (type != META_RESOURCE_TOPIC && !whole_cluster))
        return;
    struct clear_elr_record r;
    wire_init(&wire_clear_elr_record, &r);
    r.topic_name = whole_cluster ? SLICE_LIT("") : resource;
    meta_records_add(c->records, &wire_clear_elr_record, 0, &r);
}

/* ---- resources --------------------------------------------------------------------------------
 */

static struct conf_result ok(void)
{
    return (struct conf_result){ERR_NONE, SLICE_NULL};
}

static struct conf_result no(enum err e, struct slice text)
{
    return (struct conf_result){e, text};
}

static bool type_is_known(int8_t type)
{
    return type == META_RESOURCE_TOPIC || type == META_RESOURCE_BROKER ||
           type == META_RESOURCE_CLIENT_METRICS || type == META_RESOURCE_GROUP;
}

static struct conf_result check_exists(struct controller *c, int8_t type, struct slice name)
{
    if (type == META_RESOURCE_TOPIC) {
        struct slice text;
        enum err err = topic_name_check(name, c->arena, &text);
        if (err)
            return no(err, text);
        if (!meta_image_topic(c->image, name))
            return no(ERR_UNKNOWN_TOPIC_OR_PARTITION,
                      arena_printf(c->arena, "The topic '%.*s' does not exist.", SLICE_FMT(name)));
    }
    if (type != META_RESOURCE_BROKER || name.size == 0)
        return ok();
    int64_t id;
    if (!slice_to_i64(name, INT32_MIN, INT32_MAX, &id))
        return no(ERR_INVALID_REQUEST,
                  arena_printf(c->arena, "Invalid broker name %.*s", SLICE_FMT(name)));
    if (!meta_image_broker(c->image, (int32_t)id) && !meta_image_controller(c->image, (int32_t)id))
        return no(ERR_BROKER_ID_NOT_REGISTERED,
                  arena_printf(c->arena, "No node with id %d found.", (int32_t)id));
    return ok();
}

static struct conf_pairs pairs_of(struct controller *c, const struct controller_alteration *a)
{
    struct conf_pair *items = arena_array(c->arena, (size_t)a->op_count, sizeof *items);
    for (int32_t i = 0; i < a->op_count; i++)
        items[i] = (struct conf_pair){a->ops[i].name, a->ops[i].value};
    return (struct conf_pairs){items, a->op_count};
}

static struct conf_result alter(struct controller *c, const struct controller_alteration *a,
                                bool replace, bool validate_only)
{
    if (!type_is_known(a->type))
        return no(ERR_INVALID_REQUEST, arena_printf(c->arena, "Unknown resource type %d", a->type));
    enum conf_resource_type type = (enum conf_resource_type)a->type;
    struct conf_pairs current = meta_image_overrides(c->image, a->type, a->name);
    struct conf_changes changes = {NULL, 0};
    struct conf_result result = replace
                                    ? conf_alter_all(type, a->name, controller_config(c), current,
                                                     pairs_of(c, a), c->arena, &changes)
                                    : conf_alter(type, a->name, controller_config(c), current,
                                                 a->ops, a->op_count, c->arena, &changes);
    if (result.error == ERR_NONE)
        result = check_exists(c, a->type, a->name);
    if (result.error == ERR_NONE && controller_elr_enabled(c))
        result = conf_elr_check(type, a->name, &changes);
    if (result.error == ERR_NONE && !validate_only)
        controller_add_configs(c, a->type, a->name, changes);
    return result;
}

void controller_alter_configs(struct controller *c, struct controller_alteration *alterations,
                              int32_t count, bool replace, bool validate_only)
{
    int64_t changes = 0;
    for (int32_t i = 0; i < count; i++)
        changes += alterations[i].op_count;
    /* More than one operation may make: refused as a whole, before any is looked at. */
    bool too_many = changes > CONTROLLER_RECORDS_MAX;
    struct slice text = SLICE_LIT("Unable to perform excessively large batch operation.");
    for (int32_t i = 0; i < count; i++)
        alterations[i].result = too_many ? no(ERR_POLICY_VIOLATION, text)
                                         : alter(c, &alterations[i], replace, validate_only);
}
