/* The message of a ticket. */
#include "tightlink/app/send.h"

#include <string.h>

/* "Run 01J9..., 2026-11-20 20:41 UTC, measured on host-3fa9c1": what somebody who has many
 * tickets looks for first. */
static void add_origin(const struct tl_export *export, struct tl_buf *out)
{
    const struct tl_run *run = tl_export_run(export);
    struct tl_fact name;
    tl_facts_get(tl_export_facts(export), TL_NEAR(name), &name);
    tl_buf_addf(out, "Run %s", run->id);
    if (strlen(run->started) >= 16)
        tl_buf_addf(out, ", %.10s %.5s UTC", run->started, run->started + 11);
    if (name.state == TL_FACT_KNOWN)
        tl_buf_addf(out, ", measured on %s", name.text);
    tl_buf_adds(out, "\n\n");
}

enum tl_status tl_app_pack(const struct tl_export *export, struct tl_app_parcel *ret_parcel,
                           struct tl_error *reterr)
{
    enum tl_status status = tl_export_title(export, &ret_parcel->title);
    add_origin(export, &ret_parcel->text);
    if (status == TL_OK)
        status = tl_export_write(export, TL_EXPORT_TEXT, &ret_parcel->text);
    if (status == TL_OK)
        status = tl_export_write(export, TL_EXPORT_JSON, &ret_parcel->json);
    if (status == TL_OK)
        status = tl_export_write(export, TL_EXPORT_HTML, &ret_parcel->html);
    return status == TL_OK ? TL_OK : tl_error_set(reterr, status, "%s", tl_status_text(status));
}

void tl_app_unpack(struct tl_app_parcel *parcel)
{
    tl_buf_finish(&parcel->title);
    tl_buf_finish(&parcel->text);
    tl_buf_finish(&parcel->json);
    tl_buf_finish(&parcel->html);
}

struct tl_ticket_message tl_app_message(const struct tl_app_parcel *parcel, const char *run_id,
                                        const char *comment_on)
{
    return (struct tl_ticket_message){.run_id = run_id,
                                      .title = tl_buf_text(&parcel->title),
                                      .text = tl_buf_text(&parcel->text),
                                      .json = tl_buf_text(&parcel->json),
                                      .html = tl_buf_text(&parcel->html),
                                      .comment_on = comment_on ? comment_on : ""};
}
