/* pod_token.c - makes and reads the tokens of pods (apiserver/pod_token.h). */
#include "apiserver/pod_token.h"

#include "api/meta.h"
#include "base/clock.h"
#include "crypto/jwt.h"

#define ISSUER "kftrainer"
#define OWN    "kubernetes.io"

void pod_token_make(struct buf *out, const char *key, const cJSON *pod,
		    const char *audience)
{
	cJSON *claims = cJSON_CreateObject();

	json_put_str(claims, ISSUER, "iss");
	cJSON_AddItemToArray(json_list(claims, "aud"), cJSON_CreateString(audience));
	json_put_int(claims, clock_now(), "iat");
	json_put_str(claims, meta_namespace(pod), OWN, "namespace");
	json_put_str(claims, meta_name(pod), OWN, "pod", "name");
	json_put_str(claims, meta_uid(pod), OWN, "pod", "uid");
	jwt_make(out, key, claims);
	cJSON_Delete(claims);
}

bool pod_token_read(struct pod_token *ret, const char *key, const char *token)
{
	const cJSON *audiences;

	*ret = (struct pod_token){ .claims = jwt_read(key, token) };
	audiences = json_get((const cJSON *)ret->claims, "aud");
	ret->audience = cJSON_GetStringValue(audiences ? audiences->child : NULL);
	ret->ns = json_str(ret->claims, OWN, "namespace");
	ret->pod = json_str(ret->claims, OWN, "pod", "name");
	ret->uid = json_str(ret->claims, OWN, "pod", "uid");
	if (ret->ns && ret->pod && ret->uid && ret->audience)
		return true;
	cJSON_Delete(ret->claims);
	*ret = (struct pod_token){ 0 };
	return false;
}
