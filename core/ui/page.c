/* page.c - the parts that all pages have. */
#include "ui/page.h"

#include "ui/html.h"

void page_head(struct buf *out, const char *title)
{
	buf_adds(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
		      "<meta name=\"viewport\" content=\"width=device-width\">"
		      "<link rel=\"stylesheet\" href=\"/page.css\">"
		      "<link rel=\"stylesheet\" href=\"/live.css\">"
		      "<link rel=\"stylesheet\" href=\"/uplot.css\">"
		      "<script src=\"/uplot.js\" defer></script>"
		      "<script src=\"/page.js\" defer></script><title>");
	html_str(out, title);
	buf_adds(out,
		 "</title></head>\n<body><header><a href=\"/\">kftrainer</a></header>"
		 "<main>\n<h1>");
	html_str(out, title);
	buf_adds(out, "</h1>\n");
}

void page_foot(struct buf *out)
{
	buf_adds(out, "</main></body></html>\n");
}

void page_enter(struct buf *out)
{
	buf_adds(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
		      "<meta http-equiv=\"refresh\" content=\"0; url=/\">"
		      "<title>kftrainer</title></head>\n"
		      "<body><main><a href=\"/\">Jobs</a></main></body></html>\n");
}

void page_message(struct buf *out, const struct error *err)
{
	buf_adds(out, "<p class=\"bad\" role=\"alert\">");
	html_str(out, err->msg);
	buf_adds(out, "</p>\n");
}

void page_error(struct buf *out, const struct error *err)
{
	buf_clear(out);
	page_head(out, "Cannot be shown");
	page_message(out, err);
	page_foot(out);
}

void page_cell(struct buf *out, const char *text)
{
	if (!*text) {
		buf_adds(out, "<td></td>");
		return;
	}
	buf_adds(out, "<td><bdi>");
	html_str(out, text);
	buf_adds(out, "</bdi></td>");
}

void page_begin_table(struct buf *out, const char *const heads[])
{
	buf_adds(out, "<table><thead><tr>");
	for (size_t i = 0; heads[i]; i++)
		buf_printf(out, "<th scope=\"col\">%s</th>", heads[i]);
	buf_adds(out, "</tr></thead><tbody>\n");
}

void page_end_table(struct buf *out)
{
	buf_adds(out, "</tbody></table>\n");
}

void page_row(struct buf *out, const char *const cells[])
{
	buf_adds(out, "<tr>");
	for (size_t i = 0; cells[i]; i++)
		page_cell(out, cells[i]);
	buf_adds(out, "</tr>\n");
}
