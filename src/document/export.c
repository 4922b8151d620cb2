/* A run as it may leave this machine: masked before any format is written. */
#include "tightlink/document/export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_private.h"
#include "redact_run.h"
#include "tightlink/document/bundle.h"

struct tl_export {
    const struct tl_redactor *redactor; /* borrowed; NULL: nothing is masked */
    struct copier copier;
    struct tl_run run;
    struct tl_facts *facts;
    struct tl_findings findings;
    struct tl_samples samples;
    char rules_version[TL_BUNDLE_VERSION_SIZE];
    bool ascii;
};

enum tl_status tl_export_create(struct tl_redactor *redactor, const struct tl_run *run,
                                const struct tl_facts *facts, const struct tl_findings *findings,
                                struct tl_export **ret_export, struct tl_error *reterr)
{
    struct tl_export *export = calloc(1, sizeof *export);
    if (!export)
        return tl_error_set(reterr, TL_NOMEM, "%s", tl_status_text(TL_NOMEM));
    export->redactor = redactor;
    export->copier.redactor = redactor;
    if (redactor)
        tl_redactor_learn_run(redactor, run, facts);
    redact_copy_run(&export->copier, run, &export->run);
    export->facts = redact_copy_facts(&export->copier, facts);
    redact_copy_findings(&export->copier, findings, &export->findings);
    enum tl_status status = export->copier.status;
    if (status == TL_OK && redactor)
        status = tl_redactor_status(redactor);
    if (status == TL_OK) {
        *ret_export = export;
        return TL_OK;
    }
    tl_export_destroy(export);
    if (status == TL_LIMIT)
        return tl_error_set(reterr, status,
                            "this run names more hosts, addresses and files than %d: it is not "
                            "exported, because not all could be masked",
                            TL_REDACT_VALUES_MAX);
    return tl_error_set(reterr, status, "%s", tl_status_text(status));
}

void tl_export_destroy(struct tl_export *export)
{
    if (!export)
        return;
    tl_facts_destroy(export->facts);
    redact_copier_finish(&export->copier);
    tl_samples_finish(&export->samples);
    free(export);
}

enum tl_status tl_export_add_samples(struct tl_export *export, const struct tl_samples *samples)
{
    for (size_t i = 0; i < samples->count; i++) {
        struct tl_reading reading = samples->items[i];
        redact_copy_reading(&export->copier, &reading);
        tl_samples_add(&export->samples, &reading);
    }
    export->samples.cut = samples->cut;
    return export->samples.count == samples->count ? export->copier.status : TL_NOMEM;
}

const struct tl_samples *tl_export_samples(const struct tl_export *export)
{
    return &export->samples;
}

const struct tl_run *tl_export_run(const struct tl_export *export)
{
    return &export->run;
}

const struct tl_facts *tl_export_facts(const struct tl_export *export)
{
    return export->facts;
}

const struct tl_findings *tl_export_findings(const struct tl_export *export)
{
    return &export->findings;
}

void tl_export_set_ascii(struct tl_export *export)
{
    export->ascii = true;
}

bool tl_export_is_ascii(const struct tl_export *export)
{
    return export->ascii;
}

void tl_export_set_rules(struct tl_export *export, const char *rules_version)
{
    snprintf(export->rules_version, sizeof export->rules_version, "%s", rules_version);
}

enum tl_status tl_export_document(const struct tl_export *export, bool pretty, struct tl_buf *out)
{
    return document_write_masked(&export->run, export->facts, &export->findings, export->redactor,
                                 pretty, out);
}

enum tl_status tl_export_bundle(const struct tl_export *export, struct tl_buf *out)
{
    struct tl_buf document = TL_BUF_INIT;
    enum tl_status status = tl_export_document(export, true, &document);
    if (status == TL_OK) {
        struct tl_bundle bundle = {
            .document = document.data, .document_len = document.len, .samples = export->samples};
        snprintf(bundle.tool_version, sizeof bundle.tool_version, "%s", export->run.tool_version);
        memcpy(bundle.rules_version, export->rules_version, sizeof bundle.rules_version);
        status = tl_bundle_write(&bundle, out, NULL); /* borrows all, owns nothing */
    }
    tl_buf_finish(&document);
    return status;
}
