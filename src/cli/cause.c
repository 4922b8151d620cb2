/* Causes as people write them: the id, or the name that lists have. */
#include "cause.h"

#include <string.h>

#include "tightlink/base/cause_name.h"
#include "tightlink/rules/why.h"

const char *cli_cause_id(const char *text)
{
    const char *id = tl_cause_id_of(text);
    for (size_t i = 0; i < tl_cause_list_count(); i++)
        if (strcmp(tl_cause_list_id(i), id) == 0)
            return tl_cause_list_id(i);
    return NULL;
}

struct tl_nearest cli_cause_near(const char *text)
{
    struct tl_nearest nearest = {0};
    for (size_t i = 0; i < tl_cause_list_count(); i++) {
        tl_nearest_offer(&nearest, text, tl_cause_list_id(i));
        tl_nearest_offer(&nearest, text, tl_cause_name(tl_cause_list_id(i)));
    }
    return nearest;
}
