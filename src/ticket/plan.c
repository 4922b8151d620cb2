/* Requests as text: for people (--dry-run), and as a script for a shell (--print-curl). No secret
 * stands in either: the script reads each from its file, by way of a pipe, so that the list of
 * processes does not show it. */
#include <stdio.h>
#include <string.h>

#include "private.h"

void ticket_add_quoted(struct tl_buf *out, const char *text)
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

static void add_lines(struct tl_buf *out, const char *lines, const char *before, bool quoted)
{
    while (*lines) {
        size_t len = strcspn(lines, "\n");
        struct tl_buf line = TL_BUF_INIT;
        tl_buf_add(&line, lines, len);
        tl_buf_adds(out, before);
        if (quoted)
            ticket_add_quoted(out, tl_buf_text(&line));
        else
            tl_buf_addf(out, "%s\n", tl_buf_text(&line));
        tl_buf_finish(&line);
        lines += len + (lines[len] == '\n');
    }
}

/* --- the script --- */

/* What an answer tells and later requests need: the text that stands for it in examples, and the
 * shell's variable. Of uploads there are several, each with a number behind. */
static const struct {
    const char *text, *variable;
    bool numbered;
} blanks[] = {{"NUMBER", "NUMBER", false},
              {"KEY-1", "KEY", false},
              {"SESSION", "SESSION", false},
              {"UPLOAD-TOKEN", "UPLOAD", true},
              {"[FILE](/uploads/FILE)", "UPLOAD", true}};
#define BLANK_COUNT (sizeof blanks / sizeof *blanks)

void ticket_print_begin(struct ticket_job *job)
{
    if (!job->as_curl)
        return;
    tl_buf_addf(job->out,
                "#!/bin/sh\n"
                "# Sends run %s to %s. Tokens are read from their files.\n"
                "set -eu\n"
                "token() { tr -d ' \\t\\r\\n' <\"$1\"; }\n"
                "take() { python3 -c 'import json, sys\n"
                "value = json.load(open(sys.argv[1]))\n"
                "for key in sys.argv[2:]: value = value[key]\n"
                "print(value)' \"$answer\" \"$@\"; }\n"
                "fill() { python3 -c 'import sys\n"
                "name, blank, value = sys.argv[1:]\n"
                "text = open(name, newline=\"\").read()\n"
                "open(name, \"w\", newline=\"\").write(text.replace(blank, value, 1))' "
                "\"$body\" \"$1\" \"$2\"; }\n"
                "body=$(mktemp) answer=$(mktemp)\n"
                "trap 'rm -f \"$body\" \"$answer\"' EXIT\n",
                job->message->run_id, job->target->name);
}

/* A URL in single quotes, with "$NUMBER" for what an answer told. */
static void add_url(struct tl_buf *out, const char *url)
{
    struct tl_buf piece = TL_BUF_INIT;
    while (*url) {
        size_t i = 0;
        while (i < BLANK_COUNT && strncmp(url, blanks[i].text, strlen(blanks[i].text)) != 0)
            i++;
        if (i == BLANK_COUNT) {
            tl_buf_add(&piece, url++, 1);
            continue;
        }
        ticket_add_quoted(out, tl_buf_text(&piece));
        tl_buf_addf(out, "\"$%s\"", blanks[i].variable);
        tl_buf_finish(&piece);
        url += strlen(blanks[i].text);
    }
    ticket_add_quoted(out, tl_buf_text(&piece));
    tl_buf_finish(&piece);
}

/* The body goes into a file: it may be longer than an argument can be. A value of JSON that is a
 * blank as a whole is filled in. */
static void add_body(struct ticket_job *job, const char *text)
{
    char value[32];
    tl_buf_addf(job->out,
                "cat >\"$body\" <<'END OF BODY'\n%s\nEND OF BODY\n"
                "truncate -s -1 \"$body\" # the last line ends without a newline\n",
                text);
    for (size_t i = 0; i < BLANK_COUNT; i++) {
        bool numbered = blanks[i].numbered;
        snprintf(value, sizeof value, numbered ? "%s" : "\"%s\"", blanks[i].text);
        if (!strstr(text, value))
            continue;
        if (!numbered)
            tl_buf_addf(job->out, "fill '%s' '\"'\"$%s\"'\"'\n", value, blanks[i].variable);
        for (int number = 1; numbered && number <= job->uploads; number++)
            tl_buf_addf(job->out, "fill '%s' \"$%s%d\"\n", value, blanks[i].variable, number);
    }
}

/* "NUMBER=$(take issue id)": the keys that lead to the blank in the example of an answer. */
static void add_taking(struct ticket_job *job, const char *example)
{
    for (size_t i = 0; i < BLANK_COUNT; i++) {
        if (!strstr(example, blanks[i].text))
            continue;
        tl_buf_adds(job->out, blanks[i].variable);
        if (blanks[i].numbered)
            tl_buf_addf(job->out, "%d", ++job->uploads);
        tl_buf_adds(job->out, "=$(take");
        const char *end = strstr(example, blanks[i].text) - 1;
        for (const char *at = example; (at = strchr(at, '"')) && at < end;) {
            size_t len = strcspn(at + 1, "\"");
            tl_buf_addf(job->out, " %.*s", (int)len, at + 1);
            at += len + 2;
        }
        tl_buf_adds(job->out, ")\n");
    }
}

/* HMAC-SHA256 of "TIMESTAMP.BODY" under the token, as a webhook wants it. */
static void add_signature(struct ticket_job *job)
{
    tl_buf_adds(job->out, "now=$(date +%s)\n"
                          "signature=$(python3 - ");
    ticket_add_quoted(job->out, job->target->values[KEY_TOKEN_FILE]);
    tl_buf_adds(job->out, " \"$now\" \"$body\" <<'END OF PROGRAM'\n"
                          "import hashlib, hmac, sys\n"
                          "key = open(sys.argv[1], 'rb').read().strip()\n"
                          "text = sys.argv[2].encode() + b'.' + open(sys.argv[3], 'rb').read()\n"
                          "print(hmac.new(key, text, hashlib.sha256).hexdigest())\n"
                          "END OF PROGRAM\n"
                          ")\n");
}

static void add_curl(struct ticket_job *job, const struct ticket_request *request)
{
    struct tl_buf url = TL_BUF_INIT;
    tl_buf_adds(job->out, "\n");
    tl_buf_addf(&url, "%s%s", job->target->values[KEY_URL], tl_buf_text(&request->path));
    if (request->content_type)
        add_body(job, tl_buf_text(&request->body));
    if (request->is_signed)
        add_signature(job);
    tl_buf_addf(job->out, "{ :\n%s} |\n", job->auth_shell);
    tl_buf_addf(job->out, "  curl --silent --show-error --fail-with-body --max-time 30 -X %s ",
                request->method);
    add_url(job->out, tl_buf_text(&url));
    tl_buf_adds(job->out, " \\\n  -H @- -H 'Expect:'");
    if (job->target->values[KEY_CA_FILE][0]) {
        tl_buf_adds(job->out, " --cacert ");
        ticket_add_quoted(job->out, job->target->values[KEY_CA_FILE]);
    }
    add_lines(job->out, tl_buf_text(&request->headers), " \\\n  -H ", true);
    if (request->is_signed)
        tl_buf_adds(job->out, " \\\n  -H \"X-Tightlink-Timestamp: $now\" \\\n"
                              "  -H \"X-Tightlink-Signature: sha256=$signature\"");
    if (request->content_type)
        tl_buf_addf(job->out, " \\\n  -H 'Content-Type: %s' --data-binary \"@$body\"",
                    request->content_type);
    tl_buf_adds(job->out, " >\"$answer\"\ncat \"$answer\"; echo\n");
    if (request->is_search)
        tl_buf_addf(
            job->out,
            "if grep -q %s \"$answer\"; then echo 'this run has a ticket already' >&2; exit; "
            "fi\n",
            job->message->run_id);
    if (request->example)
        add_taking(job, request->example);
    tl_buf_finish(&url);
}

void ticket_print_request(struct ticket_job *job, const struct ticket_request *request)
{
    if (job->as_curl) {
        add_curl(job, request);
        return;
    }
    tl_buf_addf(job->out, "%s %s%s\n", request->method, job->target->values[KEY_URL],
                tl_buf_text(&request->path));
    add_lines(job->out, job->auth_shown, "  ", false);
    add_lines(job->out, tl_buf_text(&request->headers), "  ", false);
    if (request->is_signed)
        tl_buf_addf(job->out,
                    "  X-Tightlink-Timestamp: <seconds>\n"
                    "  X-Tightlink-Signature: sha256=<HMAC under %s>\n",
                    job->target->values[KEY_TOKEN_FILE]);
    if (request->content_type)
        tl_buf_addf(job->out, "  Content-Type: %s\n  %zu bytes\n", request->content_type,
                    request->body.len);
}
