/*
 * Appended to mbedTLS's own configuration header, so that everything that
 * includes the installed header sees the same structures.
 *
 * Forward secret, authenticated suites only; AES-GCM before ChaCha20, which is
 * plain C here and, first as in the stock list, would be what servers choose.
 */
#define MBEDTLS_SSL_CIPHERSUITES \
	MBEDTLS_TLS1_3_AES_128_GCM_SHA256, \
	MBEDTLS_TLS1_3_AES_256_GCM_SHA384, \
	MBEDTLS_TLS1_3_CHACHA20_POLY1305_SHA256, \
	MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, \
	MBEDTLS_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, \
	MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, \
	MBEDTLS_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, \
	MBEDTLS_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, \
	MBEDTLS_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256

/* Where mbedtls-nettle/ has what asks the CPU; elsewhere mbedTLS's own. */
#if defined(__x86_64__)
#define MBEDTLS_GCM_ALT
#define MBEDTLS_SHA256_ALT
#define MBEDTLS_SHA1_PROCESS_ALT
#endif

/* The source is mbedtls-entropy.c. */
#define MBEDTLS_NO_PLATFORM_ENTROPY
#define MBEDTLS_ENTROPY_HARDWARE_ALT
