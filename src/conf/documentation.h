/* What a key means, as far as its table tells: type, allowed values, default, what decides where it
 * is not set, when it may change. For DescribeConfigs with IncludeDocumentation; what a key is for
 * is told by docs/CONFIGURATION.md and Apache Kafka's documentation. Pure. */
#ifndef KLAMM_CONF_DOCUMENTATION_H
#define KLAMM_CONF_DOCUMENTATION_H

#include "base/arena.h"
#include "conf/table.h"

/* The null slice for a name that the table does not have. */
struct slice documentation_of(enum conf_kind kind, struct slice name, struct arena *arena);

#endif
