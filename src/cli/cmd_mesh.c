/* tightlink mesh A,B,C: every pair of some perfSONAR nodes, measured by them; a matrix, and the
 * part of it that is slow. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "between_nodes.h"
#include "tightlink/app/mesh.h"
#include "tightlink/app/open.h"
#include "tightlink/app/signals.h"
#include "tightlink/base/json_write.h"
#include "tightlink/base/name.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"
#include "words.h"

#define SECONDS   10
#define WAIT_NS   (300 * TL_NS_PER_S)
#define NAME_SIZE 254

struct meshing {
    struct cli_run_options options;
    struct tl_nodes_spec spec; /* what all pairs have in common */
    char names[TL_MESH_NODES_MAX][NAME_SIZE];
    struct tl_app_node nodes[TL_MESH_NODES_MAX]; /* whose pScheduler serves that name */
    const char *elsewhere[TL_MESH_NODES_MAX];    /* --node NAME=NODE, as they were written */
    size_t elsewhere_count;
    const char *own[TL_MESH_OWN_MAX]; /* --own RUN, as they were written */
    size_t own_count;
    struct tl_session_result own_results[TL_MESH_OWN_MAX];
    struct tl_mesh mesh;
};

static enum tl_status take_time(const char *text, void *options, struct tl_error *reterr)
{
    struct meshing *meshing = options;
    int64_t ns = 0;
    enum tl_status status = cli_parse_time_budget(text, &ns, reterr);
    if (status != TL_OK)
        return status;
    if (ns < TL_NODES_SECONDS_MIN * TL_NS_PER_S || ns > TL_NODES_SECONDS_MAX * TL_NS_PER_S)
        return tl_error_set(reterr, TL_USAGE, "nodes test for %d to %d s", TL_NODES_SECONDS_MIN,
                            TL_NODES_SECONDS_MAX);
    meshing->spec.seconds = (int)(ns / TL_NS_PER_S);
    return TL_OK;
}

static enum tl_status take_node(const char *text, void *options, struct tl_error *reterr)
{
    struct meshing *meshing = options;
    if (meshing->elsewhere_count == TL_MESH_NODES_MAX)
        return tl_error_set(reterr, TL_USAGE, "at most %d nodes", TL_MESH_NODES_MAX);
    meshing->elsewhere[meshing->elsewhere_count++] = text;
    return TL_OK;
}

static enum tl_status take_own(const char *text, void *options, struct tl_error *reterr)
{
    struct meshing *meshing = options;
    if (meshing->own_count == TL_MESH_OWN_MAX)
        return tl_error_set(reterr, TL_USAGE, "at most %d runs of one's own", TL_MESH_OWN_MAX);
    meshing->own[meshing->own_count++] = text;
    return TL_OK;
}

static const struct cli_option options[] = {
    {CLI_READ("node", take_node)},
    {CLI_READ("own", take_own)},
    {CLI_READ("time", take_time)},
    {CLI_TIME("wait", struct meshing, spec.wait_ns)},
    {CLI_FLAG("insecure", struct meshing, spec.insecure)},
    {CLI_FLAG("yes", struct meshing, options.yes)},
    {CLI_FLAG("json", struct meshing, options.json)},
    {.name = NULL},
};

/* --- Names ------------------------------------------------------------------------------------ */

static enum tl_status add_name(struct meshing *meshing, const char *text, size_t len,
                               struct tl_error *reterr)
{
    struct tl_mesh *mesh = &meshing->mesh;
    if (mesh->count == TL_MESH_NODES_MAX)
        return tl_error_set(reterr, TL_USAGE, "at most %d nodes: each pair takes a minute",
                            TL_MESH_NODES_MAX);
    char *name = meshing->names[mesh->count];
    snprintf(name, NAME_SIZE, "%.*s", (int)(len < NAME_SIZE ? len : NAME_SIZE), text);
    if (len >= NAME_SIZE || !tl_is_command_name(name, "", TL_COMMAND_HOST_MAX))
        return tl_error_set(reterr, TL_USAGE, "\"%.80s\" is no name of a node", name);
    for (size_t i = 0; i < mesh->count; i++)
        if (strcmp(meshing->names[i], name) == 0)
            return tl_error_set(reterr, TL_USAGE, "%.80s stands there twice", name);
    mesh->names[mesh->count] = name;
    return tl_app_node_parse(name, &meshing->nodes[mesh->count++], reterr);
}

static enum tl_status take_names(struct meshing *meshing, const char *text, struct tl_error *reterr)
{
    enum tl_status status = TL_OK;
    while (status == TL_OK) {
        size_t len = strcspn(text, ",");
        status = add_name(meshing, text, len, reterr);
        if (!text[len])
            break;
        text += len + 1;
    }
    if (status == TL_OK && meshing->mesh.count < 2)
        return tl_error_set(reterr, TL_USAGE, "a mesh has two nodes at least: A,B,C");
    return status;
}

/* --node NAME=NODE */
static enum tl_status place_node(struct meshing *meshing, const char *text, struct tl_error *reterr)
{
    const char *equals = strchr(text, '=');
    for (size_t i = 0; equals && i < meshing->mesh.count; i++)
        if (strlen(meshing->names[i]) == (size_t)(equals - text) &&
            strncmp(meshing->names[i], text, (size_t)(equals - text)) == 0)
            return tl_app_node_parse(equals + 1, &meshing->nodes[i], reterr);
    return tl_error_set(reterr, TL_USAGE,
                        "--node says which pScheduler serves a node of the mesh: "
                        "A=pscheduler://HOST, not \"%.80s\"",
                        text);
}

/* The rates of this PC's runs. */
static enum tl_status read_own(struct meshing *meshing, struct tl_error *reterr)
{
    for (size_t i = 0; i < meshing->own_count; i++) {
        struct tl_session_result *result = &meshing->own_results[i];
        enum tl_status status = cli_judge_file(meshing->own[i], result, reterr);
        if (status != TL_OK)
            return status;
        enum tl_direction direction = result->run.download ? TL_DOWNLOAD : TL_UPLOAD;
        meshing->mesh.own[i] = (struct tl_mesh_own){
            .far = result->run.target_name,
            .is_upload = !result->run.download,
            .bps = tl_facts_number(result->facts, TL_FLOW(direction, goodput_bps), (double)NAN)};
        meshing->mesh.own_count++;
    }
    return TL_OK;
}

/* --- Measuring -------------------------------------------------------------------------------- */

static struct tl_mesh_cell cell_of(const struct tl_session_result *result,
                                   enum tl_direction direction)
{
    struct tl_mesh_cell cell = {.rate_bps = NAN, .rtt_ns = NAN};
    if (!result->facts)
        return cell;
    cell.rate_bps = tl_facts_number(result->facts, TL_FLOW(direction, goodput_bps), (double)NAN);
    cell.rtt_ns = tl_facts_number(result->facts, TL_PATH(rtt_idle_ns), (double)NAN);
    return cell;
}

/* A pair that fails is told in its cells; only Ctrl-C ends the mesh. */
static enum tl_status measure_pair(struct meshing *meshing, const struct tl_rules *rules,
                                   int cancel_fd, size_t i, size_t j, struct tl_error *reterr)
{
    struct tl_session_result result = {0};
    struct tl_error error = {0};
    struct tl_nodes_spec spec = meshing->spec;
    spec.node = meshing->nodes[i].host;
    spec.port = meshing->nodes[i].port;
    spec.source = meshing->names[i];
    spec.dest = meshing->names[j];
    enum tl_status status =
        tl_app_nodes_measure(&spec, rules, cancel_fd, cli_nodes_tell, NULL, &result, &error);
    struct tl_mesh_cell *there = &meshing->mesh.cells[i][j], *back = &meshing->mesh.cells[j][i];
    *there = cell_of(&result, TL_UPLOAD);
    *back = cell_of(&result, TL_DOWNLOAD);
    if (status != TL_OK) {
        snprintf(there->failed, sizeof there->failed, "%.190s", error.text);
        snprintf(back->failed, sizeof back->failed, "%.190s", error.text);
        cli_complain("%s and %s: %s", spec.source, spec.dest, error.text);
    }
    tl_app_result_finish(&result);
    return status == TL_CANCELLED || status == TL_NOMEM
               ? tl_error_set(reterr, status, "%s", error.text)
               : TL_OK;
}

static enum tl_status measure(struct meshing *meshing, int cancel_fd, struct tl_error *reterr)
{
    struct tl_rules *rules = NULL;
    enum tl_status status = cli_load_rules(&rules, reterr);
    for (size_t i = 0; i < meshing->mesh.count && status == TL_OK; i++)
        for (size_t j = i + 1; j < meshing->mesh.count && status == TL_OK; j++)
            status = measure_pair(meshing, rules, cancel_fd, i, j, reterr);
    tl_rules_destroy(rules);
    return status;
}

/* --- Printing --------------------------------------------------------------------------------- */

static void print_text(const struct tl_mesh *mesh, const struct tl_mesh_worst *worst)
{
    char text[TL_UNIT_TEXT_SIZE];
    printf("%-24s", "from \\ to");
    for (size_t j = 0; j < mesh->count; j++)
        printf(" %14.14s", mesh->names[j]);
    putchar('\n');
    for (size_t i = 0; i < mesh->count; i++) {
        printf("%-24.24s", mesh->names[i]);
        for (size_t j = 0; j < mesh->count; j++)
            printf(" %14s", i == j ? "-"
                            : mesh->cells[i][j].rate_bps > 0
                                ? tl_format_bps(mesh->cells[i][j].rate_bps, text)
                                : "?");
        putchar('\n');
    }
    putchar('\n');
    cli_put_clean(worst->sentence, stdout);
    putchar('\n');
    if (worst->own[0]) {
        cli_put_clean(worst->own, stdout);
        putchar('\n');
    }
}

static void add_cells(struct tl_json_writer *writer, const struct tl_mesh *mesh)
{
    tl_json_begin_array(writer, "ways");
    for (size_t i = 0; i < mesh->count; i++)
        for (size_t j = 0; j < mesh->count; j++) {
            const struct tl_mesh_cell *cell = &mesh->cells[i][j];
            if (i == j)
                continue;
            tl_json_begin_object(writer, NULL);
            tl_json_add_string(writer, "from", mesh->names[i]);
            tl_json_add_string(writer, "to", mesh->names[j]);
            tl_json_add_number(writer, "rate_bps", cell->rate_bps);
            tl_json_add_number(writer, "rtt_ns", cell->rtt_ns);
            tl_json_add_string(writer, "failed", cell->failed[0] ? cell->failed : NULL);
            tl_json_end(writer);
        }
    tl_json_end(writer);
}

static bool print_json(const struct tl_mesh *mesh, const struct tl_mesh_worst *worst)
{
    static const char *const words[] = {"unknown", "even", "node", "way", "scattered"};
    struct tl_buf buf = TL_BUF_INIT;
    struct tl_json_writer writer;
    bool named = worst->where != TL_MESH_UNKNOWN;
    tl_json_writer_init(&writer, &buf, false);
    tl_json_begin_object(&writer, NULL);
    add_cells(&writer, mesh);
    tl_json_begin_object(&writer, "worst");
    tl_json_add_string(&writer, "where", words[worst->where]);
    tl_json_add_string(&writer, "from", named ? mesh->names[worst->from] : NULL);
    tl_json_add_string(&writer, "to",
                       named && worst->where != TL_MESH_NODE ? mesh->names[worst->to] : NULL);
    tl_json_add_string(&writer, "sentence", worst->sentence);
    tl_json_add_string(&writer, "own", worst->own[0] ? worst->own : NULL);
    tl_json_end(&writer);
    tl_json_end(&writer);
    bool written =
        buf.status == TL_OK && cli_write_stdout(buf.data, buf.len) && cli_write_stdout("\n", 1);
    tl_buf_finish(&buf);
    return written;
}

/* --- The command ------------------------------------------------------------------------------ */

static bool consent(const struct meshing *meshing, int *ret_exit)
{
    size_t count = meshing->mesh.count, pairs = count * (count - 1) / 2;
    char text[300];
    snprintf(
        text, sizeof text,
        "%zu nodes will send to each other as fast as they can, %zu tests of %d s, one after the "
        "other: some %zu min.",
        count, 2 * pairs, meshing->spec.seconds, 1 + pairs * 75 / 60);
    return cli_nodes_consent(&meshing->options, text, ret_exit);
}

static int run(struct meshing *meshing)
{
    struct tl_mesh_worst worst;
    struct tl_error error = {0};
    sigset_t before;
    int signal_fd = tl_app_signals_open(NULL, 0, &before);
    if (signal_fd < 0) {
        cli_complain("signalfd: %s", strerror(errno));
        return CLI_EXIT_INCONCLUSIVE;
    }
    enum tl_status status = measure(meshing, signal_fd, &error);
    tl_app_signals_close(signal_fd, &before);
    if (status != TL_OK)
        return cli_fail(&error);
    tl_app_mesh_judge(&meshing->mesh, &worst);
    if (!meshing->options.json)
        print_text(&meshing->mesh, &worst);
    else if (!print_json(&meshing->mesh, &worst))
        return CLI_EXIT_EXPORT;
    return worst.where == TL_MESH_UNKNOWN ? CLI_EXIT_INCONCLUSIVE : CLI_EXIT_OK;
}

static enum tl_status prepare(struct meshing *meshing, const char *names, struct tl_error *reterr)
{
    enum tl_status status = take_names(meshing, names, reterr);
    for (size_t i = 0; i < meshing->elsewhere_count && status == TL_OK; i++)
        status = place_node(meshing, meshing->elsewhere[i], reterr);
    return status == TL_OK ? read_own(meshing, reterr) : status;
}

int cli_mesh(const struct cli_command *command, int argc, char **argv)
{
    struct meshing *meshing = calloc(1, sizeof *meshing);
    struct cli_words words = {command, argc, argv, false, CLI_EXIT_OK};
    struct tl_error error = {0};
    int exit_code = CLI_EXIT_OK;
    if (!meshing)
        return cli_fail(&(struct tl_error){.status = TL_NOMEM, .text = "out of memory"});
    meshing->spec = (struct tl_nodes_spec){
        .both = true, .brief = true, .streams = 1, .seconds = SECONDS, .wait_ns = WAIT_NS};
    if (!cli_take_options(&words, options, meshing))
        exit_code = words.exit_code;
    else if (words.argc != 1)
        exit_code = cli_usage(command, "which nodes? For instance: tightlink mesh ps-a,ps-b,ps-c");
    else if (prepare(meshing, words.argv[0], &error) != TL_OK)
        exit_code =
            error.status == TL_USAGE ? cli_usage(command, "%s", error.text) : cli_fail(&error);
    else if (consent(meshing, &exit_code))
        exit_code = run(meshing);
    for (size_t i = 0; i < meshing->own_count; i++)
        tl_app_result_finish(&meshing->own_results[i]);
    free(meshing);
    return exit_code;
}
