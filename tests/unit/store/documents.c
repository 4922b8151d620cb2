/* Documents from the fixtures of the reports. */
#include "documents.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixtures.h"
#include "tightlink/base/time.h"

const char *made_id(int number)
{
    static char id[27];
    snprintf(id, sizeof id, "01J9ZK%020d", number);
    return id;
}

struct tl_buf make_document(const struct made_run *made)
{
    struct fixture fixture;
    struct tl_buf document = TL_BUF_INIT;
    char started[TL_TIME_TEXT_SIZE];
    cr_assert(fixture_make("limited", &fixture));
    snprintf(fixture.run.id, sizeof fixture.run.id, "%s", made_id(made->number));
    tl_time_format_utc(made->started_ns, started);
    snprintf(fixture.run.started, sizeof fixture.run.started, "%s", started);
    if (made->target)
        snprintf(fixture.run.target_name, sizeof fixture.run.target_name, "%s", made->target);
    if (made->proxy)
        snprintf(fixture.run.target_proxy, sizeof fixture.run.target_proxy, "%s", made->proxy);
    if (made->cause)
        fixture.findings.verdict.cause = (char *)(uintptr_t)made->cause;
    if (made->stream_bps > 0) {
        enum tl_direction direction = made->upload ? TL_UPLOAD : TL_DOWNLOAD;
        fixture.findings.verdict.measured_bps = made->stream_bps;
        fixture.findings.verdict.direction = direction;
        tl_facts_set_range(fixture.facts, TL_FLOW(direction, goodput_bps), made->stream_bps,
                           made->stream_bps * (1 - made->half_width),
                           made->stream_bps * (1 + made->half_width), "");
    }
    fixture.run.verified_count = 0;
    if (made->hit >= 0) {
        struct tl_verified_record *verified = &fixture.run.verified[fixture.run.verified_count++];
        *verified = (struct tl_verified_record){.direction = fixture.findings.findings[0].direction,
                                                .what = "a larger buffer",
                                                .predicted = {9e8, NAN, NAN},
                                                .measured_bps = made->hit ? 9.1e8 : 5e8,
                                                .score = made->hit ? TL_SCORE_HIT : TL_SCORE_MISS};
        snprintf(verified->rule, sizeof verified->rule, "%s", fixture.findings.findings[0].rule);
    }
    cr_assert(tl_document_write(&fixture.run, fixture.facts, &fixture.findings, false, &document) ==
              TL_OK);
    fixture_finish(&fixture);
    return document;
}

static char folder[PATH_MAX];

static void remove_folder(void)
{
    char command[PATH_MAX + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0)
        perror(folder);
}

const char *test_path(const char *name)
{
    static char path[PATH_MAX + 64];
    if (!folder[0]) {
        snprintf(folder, sizeof folder, "%s/tl-store-XXXXXX",
                 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
        cr_assert(mkdtemp(folder));
        atexit(remove_folder);
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}
