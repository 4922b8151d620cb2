/* What may stand in a command as a name. */
#include "tightlink/base/name.h"

#include <string.h>

bool tl_is_command_name(const char *text, const char *more, size_t max)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    size_t len = strlen(text), at = 0;
    while (at < len &&
           (strchr(letters, text[at]) || strchr("._:@-", text[at]) || strchr(more, text[at])))
        at++;
    return len > 0 && at == len && len <= max && text[0] != '.' && text[0] != '-';
}
