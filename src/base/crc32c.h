/* CRC-32C (Castagnoli), the checksum of record batches and producer snapshots. */
#ifndef KLAMM_BASE_CRC32C_H
#define KLAMM_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Checksum of `size` bytes; `before` is the checksum of what precedes them (0 at the start). */
uint32_t crc32c(uint32_t before, const void *data, size_t size);

#endif
