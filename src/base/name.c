/* What may stand in a command as a name, and names of this machine. */
#include "tightlink/base/name.h"

#include <stdio.h>
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

bool tl_is_loopback_name(const char *host)
{
    int a, b, c, d, end = 0;
    if (strcmp(host, "localhost") == 0 || strcmp(host, "::1") == 0 || strcmp(host, "[::1]") == 0)
        return true;
    return sscanf(host, "%d.%d.%d.%d%n", &a, &b, &c, &d, &end) == 4 && host[end] == '\0' &&
           a == 127;
}
