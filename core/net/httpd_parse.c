/* httpd_parse.c - parses HTTP requests (net/httpd_parse.h). */
#include "net/httpd_parse.h"

#include <strings.h>

#include "base/json.h"
#include "base/str.h"

enum { MAX_METHOD = 32, MAX_LENGTH_DIGITS = 18, MAX_SIZE_DIGITS = 8 };

static bool is_token_char(unsigned char c)
{
	static const char others[] = "!#$%&'*+-.^_`|~";

	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z') || (c && strchr(others, c));
}

/* True for valid characters of a header's value (RFC 9110, 5.5). */
static bool is_value_char(unsigned char c)
{
	return c == '\t' || (c >= ' ' && c != 0x7f);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* ---- the end of the head --------------------------------------------------------- */

int httpd_find_head(const char *data, size_t len, size_t *scanned, size_t *ret_end)
{
	const char *newline;
	size_t at = *scanned;

	*ret_end = 0;
	if (len >= HTTPD_MAX_LINE && !memchr(data, '\n', HTTPD_MAX_LINE))
		return 414;
	while ((newline = memchr(data + at, '\n', len - at))) {
		at = (size_t)(newline - data) + 1;
		if (at > HTTPD_MAX_HEAD)
			return 431;
		if (at < 2 || data[at - 2] != '\r')
			return 400;
		if (at >= 4 && data[at - 3] == '\n') {
			*ret_end = at;
			return 0;
		}
		*scanned = at;
	}
	return len >= HTTPD_MAX_HEAD ? 431 : 0;
}

/* ---- the request's line ---------------------------------------------------------- */

/*
 * The path in "/path" or "http://host/path", whose host moves to the start of the target.
 * NULL: invalid, or for a proxy or tunnel.
 */
static char *path_of(char *target, const char **ret_host)
{
	char *path = target, *host;

	for (const char *c = target; *c; c++)
		if (*c <= ' ' || *c >= 0x7f || *c == '#')
			return NULL;
	if (!strncasecmp(path, "http://", 7) || !strncasecmp(path, "https://", 8)) {
		host = strchr(path, ':') + 3;
		path = host + strcspn(host, "/?");
		if (!*path)
			return NULL;
		memmove(target, host, (size_t)(path - host));
		target[path - host] = '\0';
		*ret_host = target;
	}
	return path[0] == '/' || !strcmp(path, "*") ? path : NULL;
}

static int parse_version(struct httpd_head *ret, const char *version)
{
	if (!strcmp(version, "HTTP/1.1"))
		return 0;
	ret->http_1_0 = !strcmp(version, "HTTP/1.0");
	if (ret->http_1_0)
		return 0;
	return !strncmp(version, "HTTP/", 5) && strlen(version) == 8 &&
			       version[5] >= '0' && version[5] <= '9' &&
			       version[6] == '.' && version[7] >= '0' && version[7] <= '9'
		       ? 505
		       : 400;
}

/* Parse "GET /path?query HTTP/1.1", with exactly one blank between the parts. */
static int parse_line(struct httpd_head *ret, char *line, size_t len)
{
	char *target = strchr(line, ' '), *version, *path, *query;
	size_t method = target ? (size_t)(target - line) : 0;

	if (!method || method > MAX_METHOD || strlen(line) != len)
		return 400;
	for (size_t i = 0; i < method; i++)
		if (!is_token_char((unsigned char)line[i]))
			return 400;
	*target++ = '\0';
	version = strchr(target, ' ');
	if (!version)
		return 400;
	*version++ = '\0';
	path = path_of(target, &ret->authority);
	if (!path)
		return 400;
	query = strchr(path, '?');
	if (query)
		*query++ = '\0';
	ret->req.method = line;
	ret->req.path = path;
	ret->req.query = query ? query : "";
	return parse_version(ret, version);
}

/* ---- headers --------------------------------------------------------------------- */

/* True: the word is in a list such as "close, upgrade". */
static bool list_has(const char *list, const char *word)
{
	size_t len = strlen(word);

	while (*list) {
		size_t n;

		list += strspn(list, ", \t");
		n = strcspn(list, ", \t");
		if (n == len && !strncasecmp(list, word, len))
			return true;
		list += n;
	}
	return false;
}

static size_t count(const struct httpd_head *head, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < head->n_headers; i++)
		n += !strcasecmp(head->headers[i].name, name);
	return n;
}

const char *httpd_header(const struct httpd_request *req, const char *name)
{
	const char *value = NULL;

	for (const struct httpd_header *h = req->headers; h && h->name; h++) {
		if (strcasecmp(h->name, name) != 0)
			continue;
		if (value)
			return NULL;
		value = h->value;
	}
	return value;
}

/* Parse "name: value" of `len` bytes, and terminate both strings within it. */
static int parse_header(struct httpd_head *ret, char *line, size_t len)
{
	char *colon = memchr(line, ':', len), *value, *end = line + len;

	if (ret->n_headers == HTTPD_MAX_HEADERS)
		return 431;
	if (!colon || colon == line)
		return 400;
	/*
	 * A blank before the colon or at the line's start (folding) is invalid in a
	 * token.
	 */
	for (const char *c = line; c < colon; c++)
		if (!is_token_char((unsigned char)*c))
			return 400;
	for (value = colon + 1; value < end && is_blank(*value); value++)
		;
	while (end > value && is_blank(end[-1]))
		end--;
	for (const char *c = value; c < end; c++)
		if (!is_value_char((unsigned char)*c))
			return 400;
	*colon = *end = '\0';
	ret->headers[ret->n_headers++] =
		(struct httpd_header){ .name = line, .value = value };
	if (ret->authority && !strcasecmp(line, "Host"))
		ret->headers[ret->n_headers - 1].value = ret->authority;
	return 0;
}

static int check_host(const struct httpd_head *head)
{
	static const char good[] = "0123456789abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ-._~!$&'()*+;=:[]%";
	const char *host = httpd_header(&head->req, "Host");
	size_t n = count(head, "Host");

	if (n > 1 || (!n && !head->http_1_0))
		return 400;
	return host && host[strspn(host, good)] ? 400 : 0;
}

static int parse_length(int64_t *ret, const char *text)
{
	size_t n = strspn(text, "0123456789");
	int64_t v = 0;

	if (!n || text[n])
		return 400;
	for (; *text && n <= MAX_LENGTH_DIGITS; text++)
		v = v * 10 + (*text - '0');
	*ret = n <= MAX_LENGTH_DIGITS ? v : INT64_MAX;
	return 0;
}

/*
 * The length of the body (RFC 9112, 6). 400 for anything that parsers could interpret
 * differently.
 */
static int parse_framing(struct httpd_head *ret)
{
	const char *length = httpd_header(&ret->req, "Content-Length");
	const char *coding = httpd_header(&ret->req, "Transfer-Encoding");
	size_t lengths = count(ret, "Content-Length");
	size_t codings = count(ret, "Transfer-Encoding");

	if (lengths + codings > 1 || (codings && ret->http_1_0))
		return 400;
	if (length)
		return parse_length(&ret->req.content_length, length);
	if (!coding)
		return 0;
	if (strcasecmp(coding, "chunked") != 0)
		return 501;
	ret->chunked = true;
	ret->req.content_length = -1;
	return 0;
}

static int parse_wishes(struct httpd_head *ret)
{
	const char *expect = httpd_header(&ret->req, "Expect");

	ret->keep_alive = !ret->http_1_0;
	for (size_t i = 0; i < ret->n_headers; i++)
		if (!strcasecmp(ret->headers[i].name, "Connection") &&
		    list_has(ret->headers[i].value, "close"))
			ret->keep_alive = false;
	if (ret->http_1_0 || !count(ret, "Expect"))
		return 0;
	ret->expect_continue = expect && !strcasecmp(expect, "100-continue");
	return ret->expect_continue ? 0 : 417;
}

int httpd_parse_head(struct httpd_head *ret, char *data, size_t len)
{
	char *end = data + len - 2, *line = data, *next; /* without the empty line */
	int status;

	*ret = (struct httpd_head){ .req.headers = ret->headers };
	if (memchr(data, '\0', len))
		return 400;
	next = memmem(line, (size_t)(end - line), "\r\n", 2);
	if (!next)
		return 400;
	*next = '\0';
	status = parse_line(ret, line, (size_t)(next - line));
	for (line = next + 2; !status && line < end; line = next + 2) {
		next = memmem(line, (size_t)(end - line), "\r\n", 2);
		if (!next)
			return 400;
		status = parse_header(ret, line, (size_t)(next - line));
	}
	if (!status)
		status = check_host(ret);
	if (!status)
		status = parse_framing(ret);
	return status ? status : parse_wishes(ret);
}

/* ---- chunks ---------------------------------------------------------------------- */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Process a byte of the chunk's size, or the first byte after it. */
static int add_size(struct httpd_chunks *c, char byte)
{
	int digit = hex_digit(byte);

	if (digit >= 0) {
		if (++c->digits > MAX_SIZE_DIGITS)
			return 400;
		c->left = c->left * 16 + (size_t)digit;
		return 0;
	}
	if (!c->digits)
		return 400;
	c->last = c->left == 0;
	if (byte == '\r')
		c->state = CHUNK_SIZE_LF;
	else if (byte == ';')
		c->state = CHUNK_EXTENSION;
	else
		return 400;
	return 0;
}

/* Skip a byte of extensions or trailers. */
static int add_extra(struct httpd_chunks *c, char byte, enum httpd_chunk_state at_cr)
{
	if (++c->extra > HTTPD_MAX_CHUNK_EXTRA)
		return 400;
	if (byte == '\r')
		c->state = at_cr;
	else if (!is_value_char((unsigned char)byte))
		return 400;
	return 0;
}

static int add_trailer_start(struct httpd_chunks *c, char byte)
{
	if (byte == '\r') {
		c->state = CHUNK_LAST_LF;
		return 0;
	}
	c->state = CHUNK_TRAILER;
	return is_token_char((unsigned char)byte) ? 0 : 400;
}

static int expect(struct httpd_chunks *c, char byte, char wanted,
		  enum httpd_chunk_state next)
{
	if (byte != wanted)
		return 400;
	c->state = next;
	c->line = 0;
	return 0;
}

static int add_byte(struct httpd_chunks *c, char byte)
{
	switch (c->state) {
	case CHUNK_SIZE:
		return add_size(c, byte);
	case CHUNK_EXTENSION:
		if (++c->line > HTTPD_MAX_CHUNK_LINE)
			return 400;
		return add_extra(c, byte, CHUNK_SIZE_LF);
	case CHUNK_SIZE_LF:
		return expect(c, byte, '\n', c->last ? CHUNK_TRAILER_START : CHUNK_DATA);
	case CHUNK_DATA_CR:
		return expect(c, byte, '\r', CHUNK_DATA_LF);
	case CHUNK_DATA_LF:
		c->digits = 0;
		return expect(c, byte, '\n', CHUNK_SIZE);
	case CHUNK_TRAILER_START:
		return add_trailer_start(c, byte);
	case CHUNK_TRAILER:
		return add_extra(c, byte, CHUNK_TRAILER_LF);
	case CHUNK_TRAILER_LF:
		return expect(c, byte, '\n', CHUNK_TRAILER_START);
	case CHUNK_LAST_LF:
		return expect(c, byte, '\n', CHUNK_DONE);
	case CHUNK_DATA:
	case CHUNK_DONE:
		break;
	}
	return 400;
}

int httpd_chunks_add(struct httpd_chunks *c, const char *data, size_t len,
		     size_t *ret_used, struct buf *body)
{
	size_t used = 0;
	int status = 0;

	while (used < len && c->state != CHUNK_DONE && !status) {
		size_t n = len - used < c->left ? len - used : c->left;

		if (c->state != CHUNK_DATA) {
			status = add_byte(c, data[used++]);
			continue;
		}
		buf_add(body, data + used, n);
		if (body->overflowed)
			return 413;
		used += n;
		c->left -= n;
		if (!c->left)
			c->state = CHUNK_DATA_CR;
	}
	*ret_used = used;
	return status;
}

/* ---- statuses -------------------------------------------------------------------- */

const char *httpd_reason(int status)
{
	static const struct {
		int status;
		const char *reason;
	} reasons[] = {
		{ 200, "OK" },
		{ 201, "Created" },
		{ 204, "No Content" },
		{ 304, "Not Modified" },
		{ 400, "Bad Request" },
		{ 401, "Unauthorized" },
		{ 403, "Forbidden" },
		{ 404, "Not Found" },
		{ 405, "Method Not Allowed" },
		{ 408, "Request Timeout" },
		{ 409, "Conflict" },
		{ 411, "Length Required" },
		{ 413, "Payload Too Large" },
		{ 414, "URI Too Long" },
		{ 415, "Unsupported Media Type" },
		{ 417, "Expectation Failed" },
		{ 422, "Unprocessable Entity" },
		{ 429, "Too Many Requests" },
		{ 431, "Request Header Fields Too Large" },
		{ 500, "Internal Server Error" },
		{ 501, "Not Implemented" },
		{ 503, "Service Unavailable" },
		{ 505, "HTTP Version Not Supported" },
	};

	for (size_t i = 0; i < N_ELEMENTS(reasons); i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return "";
}

void httpd_answer_json(struct httpd_response *resp, int status, const struct cJSON *doc,
		       size_t max)
{
	resp->status = status;
	resp->content_type = "application/json";
	resp->body.max = max;
	json_print(&resp->body, doc);
	buf_adds(&resp->body, "\n");
}
