/* Requests as text, for --dry-run and --print-curl. The token is named by its file. */
#include <string.h>

#include "private.h"

/* In single quotes for a shell. */
static void add_quoted(struct tl_buf *out, const char *text)
{
    tl_buf_adds(out, "'");
    for (; *text; text++) {
        if (*text == '\'')
            tl_buf_adds(out, "'\\''");
        else
            tl_buf_add(out, text, 1);
    }
    tl_buf_adds(out, "'");
}

static void add_lines(struct tl_buf *out, const char *lines, bool as_curl)
{
    while (*lines) {
        size_t len = strcspn(lines, "\n");
        struct tl_buf line = TL_BUF_INIT;
        tl_buf_add(&line, lines, len);
        tl_buf_adds(out, as_curl ? " \\\n  -H " : "  ");
        if (as_curl)
            add_quoted(out, tl_buf_text(&line));
        else
            tl_buf_adds(out, tl_buf_text(&line));
        tl_buf_adds(out, as_curl ? "" : "\n");
        tl_buf_finish(&line);
        lines += len + (lines[len] == '\n');
    }
}

static void add_curl(struct ticket_job *job, const struct ticket_request *request)
{
    struct tl_buf url = TL_BUF_INIT, type = TL_BUF_INIT;
    tl_buf_addf(&url, "%s%s", job->target->values[KEY_URL], tl_buf_text(&request->path));
    tl_buf_addf(job->out, "curl --max-time 30 -X %s ", request->method);
    add_quoted(job->out, tl_buf_text(&url));
    add_lines(job->out, job->auth_shown, true);
    add_lines(job->out, tl_buf_text(&request->headers), true);
    if (request->content_type) {
        tl_buf_addf(&type, "Content-Type: %s", request->content_type);
        add_lines(job->out, tl_buf_text(&type), true);
        tl_buf_adds(job->out, " \\\n  --data-binary ");
        add_quoted(job->out, tl_buf_text(&request->body));
    }
    tl_buf_adds(job->out, "\n");
    tl_buf_finish(&url);
    tl_buf_finish(&type);
}

void ticket_print_request(struct ticket_job *job, const struct ticket_request *request)
{
    if (job->as_curl) {
        add_curl(job, request);
        return;
    }
    tl_buf_addf(job->out, "%s %s%s\n", request->method, job->target->values[KEY_URL],
                tl_buf_text(&request->path));
    add_lines(job->out, job->auth_shown, false);
    add_lines(job->out, tl_buf_text(&request->headers), false);
    if (request->content_type)
        tl_buf_addf(job->out, "  Content-Type: %s\n  %zu bytes\n", request->content_type,
                    request->body.len);
}
