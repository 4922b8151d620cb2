/* tightlink export FILE: a saved run as a report that may leave this machine. */
#include "cli.h"
#include "keep.h"
#include "pager.h"
#include "words.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tightlink/app/files.h"
#include "tightlink/app/leave.h"
#include "tightlink/app/open.h"
#include "tightlink/app/pcap.h"
#include "tightlink/base/units.h"

struct export_options {
    bool format_given, preview;
    enum tl_app_masks masks;
    enum tl_export_format format;
    const char *out; /* NULL: standard output */
};

/* --- options --- */

/* What the end of a file's name asks for; text without. */
static enum tl_export_format format_of_name(const char *path)
{
    static const struct {
        const char *end;
        enum tl_export_format format;
    } ends[] = {{".md", TL_EXPORT_MARKDOWN},     {".markdown", TL_EXPORT_MARKDOWN},
                {".html", TL_EXPORT_HTML},       {".htm", TL_EXPORT_HTML},
                {".json", TL_EXPORT_JSON},       {".jsonl", TL_EXPORT_JSON_LINES},
                {".tightlink", TL_EXPORT_BUNDLE}};
    const char *dot = path ? strrchr(path, '.') : NULL;
    for (size_t i = 0; dot && i < sizeof ends / sizeof *ends; i++)
        if (strcmp(dot, ends[i].end) == 0)
            return ends[i].format;
    return TL_EXPORT_TEXT;
}

static enum tl_status take_format(const char *text, void *into, struct tl_error *reterr)
{
    struct export_options *options = into;
    struct tl_buf names = TL_BUF_INIT;
    options->format_given = true;
    if (tl_export_format_find(text, &options->format))
        return TL_OK;
    for (int i = 0; i <= TL_EXPORT_BUNDLE; i++)
        tl_buf_addf(&names, "%s%s", i ? ", " : "", tl_export_format_name((enum tl_export_format)i));
    enum tl_status status =
        tl_error_set(reterr, TL_USAGE, "\"%.40s\" is none of %s", text, tl_buf_text(&names));
    tl_buf_finish(&names);
    return status;
}

static const struct cli_option export_table[] = {
    {CLI_READ("format", take_format), .letter = 'f'},
    {CLI_OUT("out", struct export_options, out), .letter = 'o'},
    {CLI_SET("unmask", struct export_options, masks, enum tl_app_masks, TL_APP_MASKS_NONE)},
    {CLI_SET("site-masks", struct export_options, masks, enum tl_app_masks, TL_APP_MASKS_SITE)},
    {CLI_FLAG("preview", struct export_options, preview)},
    {.name = NULL},
};

/* --- writing --- */

static int deliver(const struct export_options *options, const struct tl_buf *text)
{
    if (options->out && tl_app_is_taken(options->out))
        return cli_refuse_taken(options->out);
    bool done = options->out ? tl_app_replace_file(options->out, tl_buf_text(text), text->len, 0666)
                             : cli_write_stdout(tl_buf_text(text), text->len);
    if (done)
        return CLI_EXIT_OK;
    cli_complain("%s was not written: %s", options->out ? options->out : "the export",
                 strerror(errno));
    return CLI_EXIT_EXPORT;
}

/* --- what was masked --- */

static void print_preview(const struct export_options *options, const struct tl_redactor *redactor,
                          const struct tl_buf *document, const struct tl_buf *text)
{
    char size[TL_UNIT_TEXT_SIZE];
    size_t count = redactor ? tl_redactor_count(redactor) : 0;
    printf("Would leave: %s, %s.\n", tl_export_format_name(options->format),
           tl_format_bytes((double)document->len, size));
    if (!redactor)
        puts("Nothing is masked (--unmask).");
    else
        printf("Masked: %zu value%s.\n", count, count == 1 ? "" : "s");
    for (size_t i = 0; i < count; i++) {
        struct tl_mask mask = tl_redactor_at(redactor, i);
        printf("  %-14s %4zu %-6s %-18s ", mask.mask, mask.count,
               mask.count == 1 ? "time," : "times,", tl_mask_kind_text(mask.kind));
        cli_put_clean(mask.value, stdout);
        putchar('\n');
    }
    puts("\nWhat it says:\n");
    fwrite(tl_buf_text(text), 1, text->len, stdout);
}

/* --- captures --- */

static bool is_capture_name(const char *path)
{
    const char *dot = path ? strrchr(path, '.') : NULL;
    return dot && strcmp(dot, ".pcap") == 0;
}

/* The packets of a run, as run --capture or tightlink capture kept them. */
static int export_capture(const struct cli_command *command, const struct export_options *options,
                          const char *path)
{
    struct tl_app_pcap_masked counts;
    struct tl_error error = {0};
    if (options->format_given || options->preview || options->masks != TL_APP_MASKS_NEW)
        return cli_usage(command, "a capture leaves masked, in one form: --out FILE.pcap alone");
    if (tl_app_is_taken(options->out))
        return cli_refuse_taken(options->out);
    if (tl_app_pcap_mask(path, options->out, &counts, &error) != TL_OK) {
        cli_complain("%s", error.text);
        return error.status == TL_IO ? CLI_EXIT_EXPORT : CLI_EXIT_USAGE;
    }
    cli_complain("%llu packets, %zu addresses numbered as they come, no payload; %llu that are no "
                 "TCP are left out",
                 (unsigned long long)counts.packets_count, counts.addresses_count,
                 (unsigned long long)counts.left_out_count);
    if (counts.broken[0])
        cli_complain("%s; what stood before is written", counts.broken);
    return CLI_EXIT_OK;
}

/* --- the command --- */

static int write_export(const struct export_options *options, const struct tl_export *export,
                        struct tl_redactor *redactor)
{
    struct tl_buf document = TL_BUF_INIT, text = TL_BUF_INIT;
    int exit_code = CLI_EXIT_OK;
    enum tl_status status = tl_export_write(export, options->format, &document);
    if (status == TL_OK && options->preview)
        status = tl_export_write(export, TL_EXPORT_TEXT, &text);
    if (status == TL_OK && redactor && options->format != TL_EXPORT_BUNDLE) /* which is packed */
        tl_redactor_count_in(redactor, tl_buf_text(&document), document.len);
    if (status != TL_OK) {
        struct tl_error error = {.status = status};
        exit_code = cli_fail(&error);
    } else if (options->preview) {
        print_preview(options, redactor, &document, &text);
    } else {
        exit_code = deliver(options, &document);
        if (exit_code == CLI_EXIT_OK)
            cli_keep_masks(redactor, tl_export_run(export)->id);
    }
    tl_buf_finish(&document);
    tl_buf_finish(&text);
    return exit_code;
}

static int export_result(const struct export_options *options,
                         const struct tl_session_result *result)
{
    struct tl_app_leaving leaving = {0};
    struct tl_error error = {0};
    if (tl_app_leave(result, options->masks, &leaving, &error) != TL_OK) {
        (void)cli_fail(&error);
        return CLI_EXIT_EXPORT;
    }
    if (!cli_locale_is_utf8() && (!options->out || options->preview))
        tl_export_set_ascii(leaving.export);
    int exit_code = write_export(options, leaving.export, leaving.redactor);
    tl_app_leaving_finish(&leaving);
    return exit_code;
}

int cli_export(const struct cli_command *command, int argc, char **argv)
{
    struct export_options options = {0};
    struct tl_session_result result = {0};
    struct cli_words words = {command, argc, argv, false, CLI_EXIT_OK};
    int exit_code = CLI_EXIT_USAGE;
    if (!cli_take_options(&words, export_table, &options))
        return words.exit_code;
    if (!options.format_given)
        options.format = format_of_name(options.out);
    if (words.argc != 1)
        return cli_usage(command, "name one saved run, or - for standard input");
    if (is_capture_name(options.out))
        return export_capture(command, &options, words.argv[0]);
    if (options.format == TL_EXPORT_BUNDLE && !options.out && !options.preview &&
        isatty(STDOUT_FILENO))
        return cli_usage(command, "a bundle is no text: name a file with --out");
    if (!options.out || options.preview)
        cli_page();
    if (cli_open_run(words.argv[0], &result))
        exit_code = export_result(&options, &result);
    tl_app_result_finish(&result);
    return exit_code;
}
