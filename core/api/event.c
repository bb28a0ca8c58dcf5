/* event.c - makes Events (api/event.h). */
#include "api/event.h"

#include "api/meta.h"
#include "base/clock.h"

/* A v1.ObjectReference. */
static cJSON *reference(const cJSON *about)
{
	const struct {
		const char *key, *value;
	} fields[] = {
		{ "kind", meta_kind(about) },
		{ "namespace", meta_namespace(about) },
		{ "name", meta_name(about) },
		{ "uid", meta_uid(about) },
		{ "apiVersion", meta_api_version(about) },
		{ "resourceVersion", meta_version(about) },
	};
	cJSON *ref = cJSON_CreateObject();

	for (size_t i = 0; i < N_ELEMENTS(fields); i++)
		if (fields[i].value)
			json_put_str(ref, fields[i].value, fields[i].key);
	return ref;
}

cJSON *event_new(const cJSON *about, const char *component, bool warning,
		 const char *reason, const char *message)
{
	const char *ns = meta_namespace(about);
	cJSON *event = meta_new("v1", "Event", ns ? ns : "default", "");

	json_put(event, reference(about), "involvedObject");
	json_put_str(event, reason, "reason");
	json_put_str(event, message, "message");
	json_put_str(event, warning ? "Warning" : "Normal", "type");
	json_put_str(event, component, "source", "component");
	json_put_str(event, component, "reportingComponent");
	return event;
}

void event_set_first(cJSON *event, int64_t first)
{
	char text[TIME_TEXT_SIZE];

	json_put_str(event, time_text(first, text), "firstTimestamp");
}

void event_set_last(cJSON *event, int64_t last, int64_t count)
{
	char text[TIME_TEXT_SIZE];

	json_put_str(event, time_text(last, text), "lastTimestamp");
	json_put_int(event, count, "count");
}
