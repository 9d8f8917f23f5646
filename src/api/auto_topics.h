/* Topics that come into being because somebody named them: Metadata with auto-creation, and the
 * topics of the coordinators. Unlike Kafka, which answers with a retriable error while the topic is
 * made, the request waits until its leader is live. */
#ifndef KLAMM_API_AUTO_TOPICS_H
#define KLAMM_API_AUTO_TOPICS_H

#include "base/err.h"
#include "base/slice.h"

struct request;

/* Creates the topics, each named once, in one metadata change; `errors` (of the request's arena)
 * gets one for each name, ERR_NONE also for one that was there. `done` runs on the request's loop,
 * once the new image is in effect. */
void auto_topics_create(struct request *request, const struct slice *names, int32_t count,
                        enum err *errors, void (*done)(struct request *request));

#endif
