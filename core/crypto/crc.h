/*
 * crc.h - cyclic redundancy checks, computed piece by piece. They detect errors, not
 * attacks.
 *
 *     CRC_32      ISO 3309, zlib's; S3 x-amz-checksum-crc32
 *     CRC_32C     Castagnoli, RFC 3720 B.4; GCS, our journals
 *     CRC_64NVME  NVM Express, NVM Command Set 1.0d, 5.2.1.3.4; S3's default checksum
 *
 * All are reflected, begin with all ones and are inverted at the end. Uses carry-less
 * multiplication if the CPU has it (Intel: "Fast CRC Computation for Generic Polynomials
 * Using PCLMULQDQ", 2009): about 10 GB/s instead of 0.3.
 */
#ifndef CRYPTO_CRC_H
#define CRYPTO_CRC_H

#include <stddef.h>
#include <stdint.h>

enum crc_type { CRC_32, CRC_32C, CRC_64NVME, CRC_TYPES };

/* Extend the CRC of the bytes so far (`crc`; 0 at first) by these. */
uint64_t crc_add(enum crc_type type, uint64_t crc, const void *data, size_t len);

static inline uint32_t crc32c(uint32_t crc, const void *data, size_t len)
{
	return (uint32_t)crc_add(CRC_32C, crc, data, len);
}

#endif
