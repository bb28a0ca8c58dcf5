/* placeholder_keys.c - placeholders for keys in a dry run (trainer/plugin.h). */
#include <string.h>

#include "trainer/plugin.h"

/*
 * Neither PEM nor a point on any curve, so that nothing accepts it as a key.
 */
static int placeholder_ssh(void *ctx, struct arena *arena, const char **ret_private_pem,
			   const char **ret_authorized_key, struct error *err)
{
	*ret_private_pem = "PLACEHOLDER: the controller makes the private key\n";
	*ret_authorized_key = "PLACEHOLDER: the controller makes the public key\n";
	return 0;
}

static int placeholder_curve(void *ctx, struct arena *arena, char ret_public_z85[41],
			     char ret_secret_z85[41], struct error *err)
{
	memcpy(ret_public_z85, "PLACEHOLDER.public.key.by.the.controller", 41);
	memcpy(ret_secret_z85, "PLACEHOLDER.secret.key.by.the.controller", 41);
	return 0;
}

const struct key_source keys_placeholder = {
	.ssh = placeholder_ssh,
	.curve = placeholder_curve,
};
