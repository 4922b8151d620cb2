/* What is said of words that are wrong. */
#include "unknown.h"

#include <stdio.h>
#include <string.h>

#include "tightlink/base/nearest.h"
#include "tightlink/base/utf8.h"

void complain(const char *sentence, const char *more)
{
    char clean[2048];
    tl_utf8_clean(sentence, strlen(sentence), clean, sizeof clean);
    fprintf(stderr, "tightlinkd: %s\n%s", clean, more);
}

int usage_error(const char *sentence)
{
    complain(sentence, "Try: tightlinkd --help\n");
    return EXIT_USAGE;
}

const char *unknown_option(const struct option *options, const char *word)
{
    static char text[160];
    struct tl_nearest nearest = {0};
    size_t len = strcspn(word, "=");
    char typed[64];
    snprintf(typed, sizeof typed, "%.*s", (int)len, word);
    for (; options->name; options++)
        tl_nearest_offer(&nearest, typed + strspn(typed, "-"), options->name);
    if (!nearest.word)
        snprintf(text, sizeof text, "%.60s is no option", typed);
    else if (nearest.distance > 0)
        snprintf(text, sizeof text, "%.60s is no option; did you mean --%s?", typed, nearest.word);
    else
        snprintf(text, sizeof text, "--%s %s", nearest.word,
                 word[len] ? "takes no value" : "lacks its value");
    return text;
}
