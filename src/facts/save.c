/* Facts to JSON and back. */
#include "tightlink/facts/save.h"

#include <string.h>

#include "store.h"
#include "tightlink/base/utf8.h"

/* --- writing --- */

static void save_value(struct tl_json_writer *writer, const struct tl_fact *fact)
{
    if (fact->unit == TL_UNIT_TEXT) {
        tl_json_add_string(writer, "value", fact->text);
    } else if (fact->unit == TL_UNIT_BOOL) {
        tl_json_add_bool(writer, "value", fact->number != 0);
    } else {
        tl_json_add_number(writer, "value", fact->number);
        if (fact->low != fact->number || fact->high != fact->number) {
            tl_json_add_number(writer, "low", fact->low);
            tl_json_add_number(writer, "high", fact->high);
        }
    }
}

static void save_fact(struct tl_fact_key key, const struct tl_fact *fact, void *context)
{
    char id[TL_FACT_ID_SIZE];
    struct tl_json_writer *writer = context;
    bool known = fact->state == TL_FACT_KNOWN;
    tl_json_begin_object(writer, tl_fact_id(key, id));
    tl_json_add_string(writer, "state", known ? "known" : "unknown");
    if (known)
        save_value(writer, fact);
    else
        tl_json_add_string(writer, "reason", fact->reason);
    tl_json_add_string(writer, "unit", tl_unit_name(fact->unit));
    tl_json_add_string(writer, "stage", fact->stage);
    if (*fact->method)
        tl_json_add_string(writer, "method", fact->method);
    tl_json_end(writer);
}

void tl_facts_save(const struct tl_facts *facts, struct tl_json_writer *writer, const char *key)
{
    tl_json_begin_object(writer, key);
    tl_facts_each(facts, save_fact, writer);
    tl_json_end(writer);
}

/* --- reading --- */

/* Facts that nothing read any more. Files of earlier versions have them: they are no strangers. */
static const char *const retired[] = {"file_streams_count",
                                      "loaded_echo_count",
                                      "loaded_echo_loss_ratio",
                                      "loss_run_excess_ratio",
                                      "microscope_loss_event_ratio",
                                      "microscope_loss_run_mean_count",
                                      "microscope_network_ratio",
                                      "microscope_rtt_at_loss_ns",
                                      "microscope_rtt_mean_ns",
                                      "outage_count",
                                      "outage_longest_ns",
                                      "queue_delay_at_loss_ns",
                                      "rate_change_retrans_ratio",
                                      "rtt_shift_count",
                                      "rtt_shift_ns",
                                      "streams_window_full_ratio",
                                      "window_knee_bytes",
                                      "window_small_bytes",
                                      "window_small_goodput_bps"};

static bool is_retired(const char *id)
{
    const char *name = strchr(id, '.');
    for (size_t i = 0; name && i < sizeof retired / sizeof *retired; i++)
        if (strcmp(name + 1, retired[i]) == 0)
            return true;
    return false;
}

/* One member of the file on its way into the store. */
struct entry {
    struct tl_json_at at;
    struct tl_fact_key key;
    const char *method; /* "" without */
};

/* A string of at most TL_FACTS_TEXT_MAX bytes; *ret_text stays where the key is absent. */
static enum tl_status load_text(const struct tl_json_at *object, const char *key,
                                const char **ret_text, struct tl_error *reterr)
{
    struct tl_json_at at;
    const char *text;
    if (!tl_json_find(object, key, &at))
        return TL_OK;
    enum tl_status status = tl_json_string(&at, &text, reterr);
    if (status != TL_OK)
        return status;
    if (strlen(text) > TL_FACTS_TEXT_MAX)
        return tl_json_error(&at, reterr, TL_LIMIT, "longer than %d bytes", TL_FACTS_TEXT_MAX);
    *ret_text = text;
    return TL_OK;
}

static enum tl_status load_number(struct tl_facts *facts, const struct entry *entry,
                                  struct tl_error *reterr)
{
    struct tl_json_at at;
    double value, low, high;
    enum tl_status status = tl_json_get_number(&entry->at, "value", &value, reterr);
    if (status != TL_OK)
        return status;
    low = high = value;
    if (tl_json_find(&entry->at, "low", &at) &&
        (status = tl_json_number(&at, &low, reterr)) != TL_OK)
        return status;
    if (tl_json_find(&entry->at, "high", &at) &&
        (status = tl_json_number(&at, &high, reterr)) != TL_OK)
        return status;
    if (low > value || high < value)
        return tl_json_error(&entry->at, reterr, TL_RANGE,
                             "the value is not between its low and high");
    tl_facts_set_range(facts, entry->key, value, low, high, entry->method);
    return TL_OK;
}

static enum tl_status load_value(struct tl_facts *facts, const struct entry *entry,
                                 struct tl_error *reterr)
{
    enum tl_status status;
    bool truth;
    const char *text = NULL;
    switch (tl_fact_def(entry->key.fact)->unit) {
    case TL_UNIT_BOOL:
        status = tl_json_get_bool(&entry->at, "value", &truth, reterr);
        if (status == TL_OK)
            tl_facts_set_bool(facts, entry->key, truth, entry->method);
        return status;
    case TL_UNIT_TEXT:
        status = load_text(&entry->at, "value", &text, reterr);
        if (status == TL_OK && !text)
            return tl_json_get_string(&entry->at, "value", &text, reterr); /* says "missing" */
        if (status == TL_OK)
            tl_facts_set_text(facts, entry->key, text, entry->method);
        return status;
    default:
        return load_number(facts, entry, reterr);
    }
}

static enum tl_status check_unit(const struct entry *entry, bool known, struct tl_error *reterr)
{
    const char *unit = NULL, *wanted = tl_unit_name(tl_fact_def(entry->key.fact)->unit);
    enum tl_status status = load_text(&entry->at, "unit", &unit, reterr);
    if (status != TL_OK || (!unit && !known))
        return status;
    if (!unit)
        return tl_json_error(&entry->at, reterr, TL_UNKNOWN, "the key \"unit\" is missing");
    if (strcmp(unit, wanted) != 0)
        return tl_json_error(&entry->at, reterr, TL_SYNTAX, "the unit must be \"%s\"", wanted);
    return TL_OK;
}

static enum tl_status load_fact(struct tl_facts *facts, struct entry *entry,
                                struct tl_error *reterr)
{
    const char *state, *reason = "", *stage = "";
    entry->method = "";
    enum tl_status status = tl_json_get_string(&entry->at, "state", &state, reterr);
    if (status != TL_OK)
        return status;
    bool known = strcmp(state, "known") == 0;
    if (!known && strcmp(state, "unknown") != 0)
        return tl_json_error(&entry->at, reterr, TL_SYNTAX,
                             "the state is neither \"known\" nor \"unknown\"");
    status = check_unit(entry, known, reterr);
    if (status == TL_OK)
        status = load_text(&entry->at, "reason", &reason, reterr);
    if (status == TL_OK)
        status = load_text(&entry->at, "stage", &stage, reterr); /* the table knows it better */
    if (status == TL_OK)
        status = load_text(&entry->at, "method", &entry->method, reterr);
    if (status != TL_OK)
        return status;
    if (known)
        return load_value(facts, entry, reterr);
    tl_facts_set_unknown(facts, entry->key, "%s", reason);
    return TL_OK;
}

enum tl_status tl_facts_load(const struct tl_json_at *at, struct tl_facts **ret_facts,
                             struct tl_facts_strange *ret_strange, struct tl_error *reterr)
{
    enum tl_status status = tl_json_expect(at, TL_JSON_OBJECT, reterr);
    if (status != TL_OK)
        return status;
    struct tl_facts *facts = tl_facts_create();
    if (!facts)
        return tl_error_set(reterr, TL_NOMEM, "%s", tl_status_text(TL_NOMEM));
    struct tl_facts_strange strange = {0};
    struct tl_json_members members = tl_json_members(at);
    struct entry entry = {0};
    const char *id = NULL;
    while (status == TL_OK && tl_json_next(&members, &id, &entry.at)) {
        if (tl_fact_id_parse(id, &entry.key))
            status = load_fact(facts, &entry, reterr);
        else if (!is_retired(id) && strange.count++ == 0)
            tl_utf8_clean(id, strlen(id), strange.first, sizeof strange.first);
    }
    if (status == TL_OK)
        status = tl_facts_status(facts, reterr);
    if (status != TL_OK) {
        tl_facts_destroy(facts);
        return status;
    }
    *ret_facts = facts;
    if (ret_strange)
        *ret_strange = strange;
    return TL_OK;
}
