/* The names of the coordinators' topics. */
#ifndef KLAMM_API_TOPIC_NAMES_H
#define KLAMM_API_TOPIC_NAMES_H

#define TOPIC_CONSUMER_OFFSETS  "__consumer_offsets"
#define TOPIC_TRANSACTION_STATE "__transaction_state"

#endif
