/* The message of a ticket. */
#include "tightlink/app/send.h"

enum tl_status tl_app_pack(const struct tl_export *export, struct tl_app_parcel *ret_parcel,
                           struct tl_error *reterr)
{
    enum tl_status status = tl_export_title(export, &ret_parcel->title);
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
