/* What a listener speaks, with the numbers of Kafka's SecurityProtocol (as in RegisterBroker). */
#ifndef KLAMM_BASE_SECURITY_PROTOCOL_H
#define KLAMM_BASE_SECURITY_PROTOCOL_H

enum security_protocol {
    SECURITY_PLAINTEXT = 0,
    SECURITY_SSL = 1,
    SECURITY_SASL_PLAINTEXT = 2,
    SECURITY_SASL_SSL = 3,
};

#endif
