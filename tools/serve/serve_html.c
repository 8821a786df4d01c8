/* SPDX-License-Identifier: BSD-3-Clause */
/* See serve.h. */
#include "serve/serve.h"

#include <string.h>

#include "flame/flame.h"

void ct_serve_html_text(FILE *to, const char *text)
{
	ct_flame_text_markup(to, text, strlen(text));
}

static void lines(const char *const *text, FILE *to)
{
	for (; *text; text++)
		fputs(*text, to);
}

static void begin_page(FILE *to, const char *title, const char *kind)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "script-src "
	      "'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; frame-src "
	      "'self'\">\n"
	      "<title>",
	      to);
	ct_serve_html_text(to, title);
	fputs("</title>\n<style>\n", to);
	lines(ct_serve_style, to);
	fprintf(to, "</style>\n</head>\n<body%s>\n", kind);
}

void ct_serve_html_begin(FILE *to, const char *title)
{
	begin_page(to, title, "");
}

void ct_serve_html_begin_home(FILE *to, const char *title)
{
	begin_page(to, title, " class=\"home\"");
}

void ct_serve_html_end(FILE *to)
{
	fputs("</body>\n</html>\n", to);
}

void ct_serve_html_script(FILE *to)
{
	fputs("<script>\n", to);
	lines(ct_serve_script, to);
	fputs("</script>\n", to);
}
