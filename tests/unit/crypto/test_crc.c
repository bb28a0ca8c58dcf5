#include "crypto/crc.h"
#include "tests/unit/unit.h"

/* The published check values: of the digits 1 to 9. */
static const struct {
	enum crc_type type;
	int width;
	uint64_t polynomial; /* reflected */
	uint64_t check;
} rows[] = {
	{ CRC_32, 32, 0xedb88320, 0xcbf43926 },
	{ CRC_32C, 32, 0x82f63b78, 0xe3069283 },
	{ CRC_64NVME, 64, 0x9a6c9329ac4bc9b5, 0xae8b14860a799888 },
};

enum { N_ROWS = N_ELEMENTS(rows) };

static uint64_t bit_by_bit(size_t row, const unsigned char *data, size_t len)
{
	uint64_t ones = rows[row].width == 64 ? UINT64_MAX : UINT32_MAX, crc = ones;

	for (size_t i = 0; i < len; i++) {
		crc ^= data[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? rows[row].polynomial : 0);
	}
	return crc ^ ones;
}

TEST(test_check)
{
	for (size_t i = 0; i < N_ROWS; i++) {
		assert_true(crc_add(rows[i].type, 0, "123456789", 9) == rows[i].check);
		assert_true(crc_add(rows[i].type, 0, "", 0) == 0);
		assert_true(bit_by_bit(i, (const unsigned char *)"123456789", 9) ==
			    rows[i].check);
	}
}

static void fill(unsigned char *data, size_t len)
{
	uint32_t x = 7;

	for (size_t i = 0; i < len; i++) {
		x = x * 1664525 + 1013904223;
		data[i] = (unsigned char)(x >> 24);
	}
}

/* All lengths around the widths of what folds them, however they are aligned. */
TEST(test_lengths)
{
	static unsigned char data[1024 + 16];

	fill(data, sizeof(data));
	for (size_t i = 0; i < N_ROWS; i++)
		for (size_t len = 0; len <= 1024; len++)
			assert_true(crc_add(rows[i].type, 0, data + len % 16, len) ==
				    bit_by_bit(i, data + len % 16, len));
}

/* However it is cut. */
TEST(test_pieces)
{
	static unsigned char data[700];

	fill(data, sizeof(data));
	for (size_t i = 0; i < N_ROWS; i++) {
		uint64_t want = bit_by_bit(i, data, sizeof(data));

		for (size_t cut = 0; cut < sizeof(data); cut++) {
			uint64_t crc = crc_add(rows[i].type, 0, data, cut);

			assert_true(crc_add(rows[i].type, crc, data + cut,
					    sizeof(data) - cut) == want);
		}
	}
}

RUN_TESTS(NULL, NULL)
