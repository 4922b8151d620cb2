/* What the ticket systems share: a target, a job, requests. Private to src/ticket. */
#ifndef TL_TICKET_PRIVATE_H
#define TL_TICKET_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include "tightlink/base/buf.h"
#include "tightlink/base/json.h"
#include "tightlink/base/json_write.h"
#include "tightlink/ticket/ticket.h"

#define TICKET_REPLY_MAX   ((size_t)64 << 10)
#define TICKET_VALUE_SIZE  512
#define TICKET_SECRET_SIZE 1024
#define TICKET_SHELL_SIZE  (8 * TICKET_VALUE_SIZE)

/* Keys of a target; each system says which it needs and which it takes besides. */
enum ticket_key {
    KEY_SYSTEM,
    KEY_URL,
    KEY_TOKEN_FILE,
    KEY_APP_TOKEN_FILE,
    KEY_USER,
    KEY_QUEUE,
    KEY_REQUESTOR,
    KEY_PROJECT,
    KEY_ISSUE_TYPE,
    KEY_GROUP,
    KEY_CUSTOMER,
    KEY_REPOSITORY,
    KEY_LABELS,
    KEY_TRACKER,
    KEY_TABLE,
    KEY_CA_FILE,
    KEY_ALLOW_HTTP,
    /* of telemetry alone */
    KEY_FILE,
    KEY_ADDRESS,
    KEY_TRANSPORT,
    KEY_UNMASK,
    KEY_FAR_ENDS, /* of a list to compare with alone */
    KEY_COUNT
};
#define KEY(name) (UINT32_C(1) << KEY_##name)

struct ticket_target {
    char name[TL_TICKET_NAME_SIZE];
    const struct ticket_system *system; /* NULL of a telemetry sink */
    const struct telemetry_sink *sink;  /* NULL of a ticket system */
    bool allow_http;
    char values[KEY_COUNT][TICKET_VALUE_SIZE]; /* "" where it is not given */
};

/* One request and what came back. */
struct ticket_request {
    const char *method;       /* "GET", "POST" ... */
    struct tl_buf path;       /* behind the target's url, with its query */
    const char *content_type; /* NULL without a body */
    struct tl_buf body;
    struct tl_buf headers; /* more headers, a line each: no secrets */
    bool is_search;        /* for the ticket of this run */
    bool is_signed;        /* of a webhook: timestamp and signature of the body */
    const char *example;   /* what a plan takes for the reply; a word in capitals is what later
                            * requests need of it */
    bool any_reply;        /* the reply need not be JSON */
};
void ticket_request_finish(struct ticket_request *request);

struct ticket_job {
    const struct ticket_target *target;
    const struct tl_ticket_message *message;
    char title[320]; /* with the run's id before it */
    /* Header lines with secrets, how a plan shows them, and the shell's commands that print them
     * from the files of the secrets. Cleared by ticket_job_finish. */
    char auth[TICKET_SECRET_SIZE * 2], auth_shown[TICKET_SECRET_SIZE],
        auth_shell[TICKET_SHELL_SIZE];
    char secret[TICKET_SECRET_SIZE]; /* the token itself */
    bool plan, as_curl;
    struct tl_buf *out;     /* of a plan */
    int uploads;            /* in a plan: whose answers later requests need */
    bool again;             /* an earlier try may have come some of the way */
    int64_t retry_after_ns; /* of the last reply that said so, 0 without */
    bool unsure;            /* the last request may have arrived without an answer that counts */
};

/* The attachments of a message, findings.json and report.html where there is one. */
struct ticket_file {
    const char *name, *type, *data;
};

/* --- Systems --- */

struct ticket_system {
    const char *name, *title; /* "rt", "Request Tracker" */
    uint32_t needs, takes;    /* sets of KEY(), besides system, url, ca_file, allow_http */
    /* Header lines with the secret into job->auth, and for people into auth_shown. */
    enum tl_status (*open)(struct ticket_job *job, struct tl_error *reterr);
    /* The ticket with the run's id, "" where there is none. NULL: the system knows the sender's
     * own key and needs no search. */
    enum tl_status (*find)(struct ticket_job *job, char ret_ticket[TL_TICKET_NAME_SIZE],
                           struct tl_error *reterr);
    /* Makes the ticket, with its attachments where attach is NULL. */
    enum tl_status (*create)(struct ticket_job *job, char ret_ticket[TL_TICKET_NAME_SIZE],
                             struct tl_error *reterr);
    /* Attaches a file to a ticket, after create and comment; NULL: these two do it. */
    enum tl_status (*attach)(struct ticket_job *job, const char *ticket,
                             const struct ticket_file *file, struct tl_error *reterr);
    /* Adds text to a ticket, with the files where attach is NULL. */
    enum tl_status (*comment)(struct ticket_job *job, const char *ticket, struct tl_error *reterr);
    /* Ends what open began; NULL: nothing to end. */
    void (*close)(struct ticket_job *job);
};
extern const struct ticket_system ticket_rt, ticket_redmine, ticket_webhook, ticket_github,
    ticket_gitlab, ticket_jira_cloud, ticket_jira_dc, ticket_zammad, ticket_servicenow, ticket_glpi;

/* --- A whole ticket (send.c) --- */

/* All requests of a message, in order: a comment, or a ticket that is found or made. *job need not
 * name target and message; its secrets are gone when this returns. *result is filled as far as it
 * got. */
enum tl_status ticket_make(struct ticket_job *job, const struct ticket_target *target,
                           const struct tl_ticket_message *message, struct tl_ticket_result *result,
                           struct tl_error *reterr) TL_WARN_UNUSED;

/* --- Requests (http.c) --- */

/* Sends a request (or prints it, in a plan). *ret_reply may be NULL; else the parsed reply, NULL
 * where the body is empty and any_reply. Statuses 200 to 299 alone are good. */
enum tl_status ticket_http(struct ticket_job *job, struct ticket_request *request,
                           struct tl_json **ret_reply, struct tl_error *reterr) TL_WARN_UNUSED;
/* Adds text as it may stand in a path or query (RFC 3986). */
void ticket_add_escaped(struct tl_buf *out, const char *text);
/* What a plan begins with, and a request in it (plan.c). */
void ticket_print_begin(struct ticket_job *job);
void ticket_print_request(struct ticket_job *job, const struct ticket_request *request);
/* Text in single quotes for a shell. */
void ticket_add_quoted(struct tl_buf *out, const char *text);

/* --- Helpers (parts.c) --- */

/* Header "NAME: PREFIXsecret" with the target's token. */
enum tl_status ticket_open_token(struct ticket_job *job, const char *header, const char *prefix,
                                 struct tl_error *reterr) TL_WARN_UNUSED;
/* "Authorization: Basic" of the target's user and token. */
enum tl_status ticket_open_basic(struct ticket_job *job, struct tl_error *reterr) TL_WARN_UNUSED;
/* The shell's command that prints header "NAME: PREFIXsecret" of a file, behind what is there. */
void ticket_add_auth_shell(struct ticket_job *job, const char *header, const char *prefix,
                           const char *file);
/* Whether text may be a token in a header: printable ASCII without blanks, and some. */
bool ticket_is_token(const char *text);
/* Reads the secret of a token file (0600, of this user). */
enum tl_status ticket_read_secret(const struct ticket_target *target, enum ticket_key key,
                                  char ret_secret[TICKET_SECRET_SIZE],
                                  struct tl_error *reterr) TL_WARN_UNUSED;
/* A string or a whole number at key, as text. TL_PROTOCOL where it is missing. */
enum tl_status ticket_take_name(const struct tl_json_at *object, const char *key,
                                char ret_ticket[TL_TICKET_NAME_SIZE],
                                struct tl_error *reterr) TL_WARN_UNUSED;
/* The first item of array whose title_key has the run's id: its name_key. "" where none has. */
enum tl_status ticket_take_found(const struct ticket_job *job, const struct tl_json_at *array,
                                 const char *title_key, const char *name_key,
                                 char ret_ticket[TL_TICKET_NAME_SIZE],
                                 struct tl_error *reterr) TL_WARN_UNUSED;
/* A request whose reply tells the ticket at name_key, of the reply itself or of its member
 * object_key. This and the next two finish the request. */
enum tl_status ticket_send_for_name(struct ticket_job *job, struct ticket_request *request,
                                    const char *object_key, const char *name_key,
                                    char ret_ticket[TL_TICKET_NAME_SIZE],
                                    struct tl_error *reterr) TL_WARN_UNUSED;
/* A request whose reply, or its member array_key, lists tickets: the one whose title has the run's
 * id, or, where title_key is NULL (the search was exact), the first. "" where there is none. */
enum tl_status ticket_search(struct ticket_job *job, struct ticket_request *request,
                             const char *array_key, const char *title_key, const char *name_key,
                             char ret_ticket[TL_TICKET_NAME_SIZE],
                             struct tl_error *reterr) TL_WARN_UNUSED;
/* A request whose reply tells nothing more. */
enum tl_status ticket_post(struct ticket_job *job, struct ticket_request *request,
                           struct tl_error *reterr) TL_WARN_UNUSED;
/* A ticket's number or key as a path may have it: letters, digits and dashes. */
enum tl_status ticket_check_name(const char *ticket, struct tl_error *reterr) TL_WARN_UNUSED;

/* Those of a message. */
#define TICKET_FILES_MAX 2
size_t ticket_files(const struct tl_ticket_message *message,
                    struct ticket_file ret_files[TICKET_FILES_MAX]);
/* The same inside a JSON body, as an array of objects, in base64; members has what a system calls
 * name, type and data. Nothing where there are none. */
void ticket_add_files(struct tl_json_writer *w, const char *key, const struct ticket_file *members,
                      const struct tl_ticket_message *message);
/* A body of multipart/form-data (RFC 7578) with one file as a field; fills content type and
 * body. extra: another field with JSON before it, "" for none. */
void ticket_multipart(struct ticket_request *request, const char *field,
                      const struct ticket_file *file, const char *extra_field, const char *extra);

#endif
