/* Values that may be missing: their reasons and their text. */
#include "tightlink/host/value.h"

#include <string.h>

const char *tl_host_why_text(enum tl_host_why why)
{
    static const char *const texts[] = {
#define TL_HOST_WHY_TEXT(name, text) text,
        TL_HOST_WHY_MAP(TL_HOST_WHY_TEXT)
#undef TL_HOST_WHY_TEXT
    };

    return (unsigned)why < TL_HOST_WHY_COUNT ? texts[why] : "for an unknown reason";
}

void tl_host_text_unknown(struct tl_host_text *ret_text, enum tl_host_why why)
{
    memset(ret_text, 0, sizeof(*ret_text));
    ret_text->why = why;
}

static bool is_printable(const char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~')
            return false;
    return true;
}

void tl_host_text_set(struct tl_host_text *ret_text, const char *text)
{
    size_t len = strnlen(text, TL_HOST_TEXT_SIZE);

    tl_host_text_unknown(ret_text, TL_HOST_WHY_TOO_LONG);
    if (len >= TL_HOST_TEXT_SIZE)
        return;
    if (!is_printable(text)) {
        ret_text->why = TL_HOST_WHY_MALFORMED;
        return;
    }
    memcpy(ret_text->text, text, len);
    ret_text->why = TL_HOST_WHY_KNOWN;
}
