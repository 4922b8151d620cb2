/* Compiles and renders sentences with holes. */
#include "template.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "logic.h"
#include "tightlink/base/name.h"
#include "tightlink/base/units.h"
#include "tightlink/base/utf8.h"
#include "tightlink/rules/findings.h"

enum piece_kind { PIECE_TEXT, PIECE_VALUE, PIECE_WORD, PIECE_OPEN, PIECE_CLOSE };

struct tl_template_piece {
    enum piece_kind kind;
    const char *text; /* PIECE_TEXT; PIECE_VALUE: what stands for an unknown one, or NULL */
    unsigned choice;  /* index into formats or words */
    const struct tl_logic *when; /* PIECE_OPEN: the group's condition, or NULL */
    bool unless;                 /* it is kept unless that holds */
    struct tl_formula formula;
};

static const char *format_count(double value, char ret_text[TL_UNIT_TEXT_SIZE])
{
    snprintf(ret_text, TL_UNIT_TEXT_SIZE, "%.0f", value);
    return ret_text;
}

/* Three digits; a large number is written out, for no reader takes in 2.44e+03 MHz. */
static const char *format_number(double value, char ret_text[TL_UNIT_TEXT_SIZE])
{
    snprintf(ret_text, TL_UNIT_TEXT_SIZE, fabs(value) < 999.5 ? "%.3g" : "%.0f", value);
    return ret_text;
}

/* Two digits, as of one that was reckoned from a share or by a model. */
static const char *format_rough(double value, char ret_text[TL_UNIT_TEXT_SIZE])
{
    double step = fabs(value) < 100 ? 1 : pow(10, floor(log10(fabs(value))) - 1);
    snprintf(ret_text, TL_UNIT_TEXT_SIZE, "%.0f", step * round(value / step));
    return ret_text;
}

static const char *format_bool(double value, char ret_text[TL_UNIT_TEXT_SIZE])
{
    snprintf(ret_text, TL_UNIT_TEXT_SIZE, "%s", value != 0 ? "on" : "off");
    return ret_text;
}

static const struct format {
    const char *name;
    enum tl_unit unit; /* TL_UNIT_NUMBER: anything without dimension */
    const char *(*write)(double value, char ret_text[TL_UNIT_TEXT_SIZE]);
    /* In a sentence, where the number may be off by `doubt`; NULL: it is written as it is. */
    const char *(*known)(double value, double doubt, char ret_text[TL_UNIT_TEXT_SIZE]);
} formats[] = {
    {"bps", TL_UNIT_BPS, tl_format_bps, tl_format_bps_known},
    {"bytes", TL_UNIT_BYTES, tl_format_bytes, NULL},
    {"traffic", TL_UNIT_BYTES, tl_format_traffic, NULL},
    {"ns", TL_UNIT_NS, tl_format_ns, tl_format_ns_known},
    {"ratio", TL_UNIT_RATIO, tl_format_ratio, NULL},
    {"count", TL_UNIT_COUNT, format_count, NULL},
    {"number", TL_UNIT_NUMBER, format_number, NULL},
    {"rough", TL_UNIT_NUMBER, format_rough, NULL},
    {"integer", TL_UNIT_BYTES, format_count, NULL}, /* a setting's value in a command */
    {"bool", TL_UNIT_BOOL, format_bool, NULL},
    {"text", TL_UNIT_TEXT, NULL, NULL},
    {"words", TL_UNIT_TEXT, NULL, NULL}, /* the same, but in a command, which takes several */
};
#define FORMAT_COUNT (sizeof formats / sizeof *formats)

/* The capitalised twin of a word begins a sentence. */
static const char *const words[] = {"place", "sender", "receiver", "direction"};
#define WORD_COUNT (sizeof words / sizeof *words)

#define TL_TEMPLATE_ID_SIZE 64 /* of a test that a group names */

struct compiler {
    struct tl_arena *arena;
    struct tl_formula_scope *scope;
    const struct tl_template_conditions *conditions;
    struct tl_error *reterr;
    const char *text;
    bool group; /* inside [[ ]] */
    size_t count;
    struct tl_template_piece pieces[TL_TEMPLATE_PIECES_MAX];
    struct tl_buf literal; /* plain text gathered so far */
};

static enum tl_status add_piece(struct compiler *c, struct tl_template_piece piece)
{
    if (c->count == TL_TEMPLATE_PIECES_MAX)
        return tl_error_set(c->reterr, TL_LIMIT, "a sentence of more than %d pieces",
                            TL_TEMPLATE_PIECES_MAX);
    c->pieces[c->count++] = piece;
    return TL_OK;
}

static enum tl_status flush_literal(struct compiler *c)
{
    if (c->literal.status != TL_OK)
        return tl_error_set(c->reterr, TL_NOMEM, "out of memory");
    if (!c->literal.len)
        return TL_OK;
    char *copy = tl_arena_copy(c->arena, c->literal.data, c->literal.len);
    if (!copy)
        return tl_error_set(c->reterr, TL_NOMEM, "out of memory");
    c->literal.len = 0;
    return add_piece(c, (struct tl_template_piece){.kind = PIECE_TEXT, .text = copy});
}

static enum tl_status compile_value(struct compiler *c, const char *hole, size_t bar, size_t len)
{
    struct tl_template_piece piece = {.kind = PIECE_VALUE, .choice = FORMAT_COUNT};
    const char *name = hole + bar + 1;
    const char *second = memchr(name, '|', len - bar - 1);
    size_t name_len = second ? (size_t)(second - name) : len - bar - 1;
    if (second) {
        piece.text = tl_arena_copy(c->arena, second + 1, len - bar - name_len - 2);
        if (!piece.text)
            return tl_error_set(c->reterr, TL_NOMEM, "out of memory");
    }
    for (unsigned i = 0; i < FORMAT_COUNT; i++)
        if (strlen(formats[i].name) == name_len && strncmp(formats[i].name, name, name_len) == 0)
            piece.choice = i;
    if (piece.choice == FORMAT_COUNT)
        return tl_error_set(c->reterr, TL_UNKNOWN,
                            "the format \"%.*s\" is not known; there are bps bytes traffic ns "
                            "ratio count number rough integer bool text words",
                            name_len > 20 ? 20 : (int)name_len, name);
    enum tl_status status =
        tl_formula_compile(c->arena, c->scope, true, hole, bar, &piece.formula, c->reterr);
    if (status != TL_OK)
        return status;
    enum tl_unit have = piece.formula.unit, want = formats[piece.choice].unit;
    enum tl_unit joined;
    bool fits = have == want || (want == TL_UNIT_NUMBER && tl_unit_is_plain(have)) ||
                (tl_unit_is_plain(want) && tl_unit_join(have, want, &joined));
    if (!fits)
        return tl_error_set(c->reterr, TL_SYNTAX, "\"%s\" is %s and cannot be written as %s",
                            piece.formula.text, tl_unit_name(have), formats[piece.choice].name);
    return add_piece(c, piece);
}

static enum tl_status compile_word(struct compiler *c, const char *hole, size_t len)
{
    for (unsigned i = 0; i < WORD_COUNT; i++) {
        if (strlen(words[i]) != len || strncmp(words[i] + 1, hole + 1, len - 1) != 0)
            continue;
        if (hole[0] == words[i][0])
            return add_piece(c, (struct tl_template_piece){.kind = PIECE_WORD, .choice = i});
        if (hole[0] == toupper((unsigned char)words[i][0]))
            return add_piece(
                c, (struct tl_template_piece){.kind = PIECE_WORD, .choice = i + WORD_COUNT});
    }
    return tl_error_set(c->reterr, TL_UNKNOWN,
                        "\"{%.*s}\" is neither {formula|format} nor one of {place} {sender} "
                        "{receiver} {direction}",
                        len > 40 ? 40 : (int)len, hole);
}

static enum tl_status compile_hole(struct compiler *c, const char **at)
{
    const char *hole = *at + 1, *end = strchr(hole, '}');
    if (!end)
        return tl_error_set(c->reterr, TL_SYNTAX, "\"{\" without \"}\"");
    size_t len = (size_t)(end - hole);
    const char *bar = memchr(hole, '|', len);
    enum tl_status status = flush_literal(c);
    if (status == TL_OK)
        status =
            bar ? compile_value(c, hole, (size_t)(bar - hole), len) : compile_word(c, hole, len);
    *at = end + 1;
    return status;
}

/* "?id|" or "!id|" at *at, behind "[[": the condition of the group; goes on to its text. */
static enum tl_status compile_condition(struct compiler *c, const char **at,
                                        struct tl_template_piece *piece)
{
    char id[TL_TEMPLATE_ID_SIZE];
    const char *name = *at + 1;
    size_t len = strcspn(name, "|]");
    if (**at != '?' && **at != '!')
        return TL_OK;
    if (name[len] != '|' || len == 0 || len >= sizeof id)
        return tl_error_set(c->reterr, TL_SYNTAX, "[[%c is followed by a test's id and |", **at);
    memcpy(id, name, len);
    id[len] = '\0';
    piece->unless = **at == '!';
    piece->when = c->conditions ? c->conditions->find(c->conditions->context, id) : NULL;
    *at = name + len + 1;
    return piece->when ? TL_OK
                       : tl_error_set(c->reterr, TL_UNKNOWN,
                                      "there is no test or condition \"%s\" above this place", id);
}

/* "[[" or "]]" at *at; goes on to what follows it. */
static enum tl_status compile_group(struct compiler *c, const char **at)
{
    bool open = **at == '[';
    struct tl_template_piece piece = {.kind = open ? PIECE_OPEN : PIECE_CLOSE};
    if (open == c->group)
        return tl_error_set(c->reterr, TL_SYNTAX,
                            open ? "\"[[\" inside of \"[[\"" : "\"]]\" without \"[[\"");
    c->group = open;
    *at += 2;
    enum tl_status status = flush_literal(c);
    if (status == TL_OK && open)
        status = compile_condition(c, at, &piece);
    return status == TL_OK ? add_piece(c, piece) : status;
}

static enum tl_status compile_pieces(struct compiler *c)
{
    const char *at = c->text;
    enum tl_status status = TL_OK;
    while (*at && status == TL_OK) {
        bool twice = at[0] == at[1];
        if (twice && (*at == '{' || *at == '}')) {
            tl_buf_add(&c->literal, at, 1);
            at += 2;
        } else if (*at == '{') {
            status = compile_hole(c, &at);
        } else if (*at == '}') {
            status = tl_error_set(c->reterr, TL_SYNTAX, "\"}\" without \"{\"");
        } else if (twice && (*at == '[' || *at == ']')) {
            status = compile_group(c, &at);
        } else {
            size_t len = strcspn(at, "{}[]");
            tl_buf_add(&c->literal, at, len ? len : 1);
            at += len ? len : 1;
        }
    }
    if (status == TL_OK && c->group)
        status = tl_error_set(c->reterr, TL_SYNTAX, "\"[[\" without \"]]\"");
    return status == TL_OK ? flush_literal(c) : status;
}

enum tl_status tl_template_compile(struct tl_arena *arena, struct tl_formula_scope *scope,
                                   const struct tl_template_conditions *conditions,
                                   const char *text, struct tl_template *ret_template,
                                   struct tl_error *reterr)
{
    if (strlen(text) > TL_TEMPLATE_CHARS_MAX)
        return tl_error_set(reterr, TL_LIMIT, "a text of more than %d characters",
                            TL_TEMPLATE_CHARS_MAX);
    struct compiler compiler = {
        .arena = arena, .scope = scope, .conditions = conditions, .reterr = reterr, .text = text};
    enum tl_status status = compile_pieces(&compiler);
    tl_buf_finish(&compiler.literal);
    if (status != TL_OK)
        return status;
    struct tl_template template = {
        .text = tl_arena_strdup(arena, text),
        .piece_count = compiler.count,
        .pieces = TL_ARENA_ARRAY(arena, compiler.count, struct tl_template_piece)};
    if (!template.text || !template.pieces)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    memcpy(template.pieces, compiler.pieces, compiler.count * sizeof *compiler.pieces);
    *ret_template = template;
    return TL_OK;
}

struct renderer {
    const struct tl_formula_env *env;
    const struct tl_template_words *words;
    bool command;       /* texts in it are names */
    bool exact;         /* numbers are not rounded to what is known: they are set, not read */
    const char *unsafe; /* the first formula whose text may not stand in a command */
    struct tl_buf *out;
};

static bool render_value(const struct tl_template_piece *piece, struct renderer *renderer)
{
    struct tl_value value = tl_formula_evaluate(&piece->formula, renderer->env);
    struct tl_buf *out = renderer->out;
    char text[TL_UNIT_TEXT_SIZE];
    const char *more = strcmp(formats[piece->choice].name, "words") == 0 ? " ," : "";
    if (renderer->command && value.known && !formats[piece->choice].write && !renderer->unsafe &&
        !tl_is_command_name(value.text, more, TL_COMMAND_NAME_MAX))
        renderer->unsafe = piece->formula.text;
    if (!value.known)
        tl_buf_adds(out, piece->text ? piece->text : "unknown");
    else if (formats[piece->choice].known && !renderer->exact)
        tl_buf_adds(out, formats[piece->choice].known(
                             value.number, tl_formula_doubt(&piece->formula, renderer->env), text));
    else if (formats[piece->choice].write)
        tl_buf_adds(out, formats[piece->choice].write(value.number, text));
    else
        tl_utf8_add_clean(out, value.text, false);
    return value.known || piece->text;
}

static void render_word(const struct tl_template_piece *piece,
                        const struct tl_template_words *values, struct tl_buf *out)
{
    const char *const texts[WORD_COUNT] = {values->place, values->sender, values->receiver,
                                           values->direction};
    const char *text = texts[piece->choice % WORD_COUNT];
    char first = piece->choice < WORD_COUNT ? text[0] : (char)toupper((unsigned char)text[0]);
    tl_buf_add(out, &first, 1);
    tl_buf_adds(out, text + 1);
}

/* Whether the group that begins here is kept, as far as its condition has the say. */
static bool is_kept(const struct tl_template_piece *open, const struct tl_trace *traces)
{
    if (!open->when)
        return true;
    return (tl_logic_evaluate(open->when, traces) == TL_TRUE) != open->unless;
}

static bool render(const struct tl_template *template, struct renderer *renderer)
{
    struct tl_buf *out = renderer->out;
    bool complete = true, group = false, group_kept = true;
    size_t group_start = 0;
    for (size_t i = 0; i < template->piece_count; i++) {
        const struct tl_template_piece *piece = &template->pieces[i];
        switch (piece->kind) {
        case PIECE_TEXT:
            tl_buf_adds(out, piece->text);
            break;
        case PIECE_WORD:
            render_word(piece, renderer->words, out);
            break;
        case PIECE_VALUE:
            if (!render_value(piece, renderer)) {
                complete &= group;
                group_kept = false;
            }
            break;
        case PIECE_OPEN:
            group = true;
            group_kept = is_kept(piece, renderer->words->traces);
            group_start = out->len;
            break;
        case PIECE_CLOSE:
            if (!group_kept && out->status == TL_OK)
                out->len = group_start;
            group = false;
        }
    }
    if (out->status == TL_OK && out->data)
        out->data[out->len] = '\0';
    return complete;
}

bool tl_template_render(const struct tl_template *template, const struct tl_formula_env *env,
                        const struct tl_template_words *values, struct tl_buf *out)
{
    struct renderer renderer = {.env = env, .words = values, .out = out};
    return render(template, &renderer);
}

bool tl_template_render_command(const struct tl_template *template,
                                const struct tl_formula_env *env,
                                const struct tl_template_words *values, const char **ret_unsafe,
                                struct tl_buf *out)
{
    struct renderer renderer = {.env = env,
                                .words = values,
                                .command = true,
                                .exact = tl_remedy_is_command(template->text),
                                .out = out};
    bool complete = render(template, &renderer);
    *ret_unsafe = renderer.unsafe;
    return complete && !renderer.unsafe;
}

/* "flow.rtt_min_ns" is shown as <rtt_min_ns>. */
static void outline_value(const struct tl_formula *formula, struct tl_buf *out)
{
    const char *text = formula->text, *dot = strchr(text, '.');
    bool simple = formula->code_count == 1 && formula->code[0].op != TL_OP_NUMBER;
    tl_buf_addf(out, "<%s>", !simple ? "computed" : dot ? dot + 1 : text);
}

void tl_template_outline(const struct tl_template *template, const char *role, struct tl_buf *out)
{
    char place[32];
    snprintf(place, sizeof place, "the %s", role);
    const struct tl_template_words values = {.place = place,
                                             .sender = "the sender",
                                             .receiver = "the receiver",
                                             .direction = "transfer"};
    bool asks = false;
    for (size_t i = 0; i < template->piece_count; i++) {
        const struct tl_template_piece *piece = &template->pieces[i];
        if (piece->kind == PIECE_OPEN && (asks = piece->when != NULL))
            tl_buf_adds(out, piece->unless ? " (otherwise: " : " (where it holds: ");
        else if (piece->kind == PIECE_CLOSE && asks)
            tl_buf_adds(out, ")");
        else if (piece->kind == PIECE_TEXT)
            tl_buf_adds(out, piece->text);
        else if (piece->kind == PIECE_WORD)
            render_word(piece, &values, out);
        else if (piece->kind == PIECE_VALUE)
            outline_value(&piece->formula, out);
    }
}

bool tl_remedy_is_command(const char *text)
{
    if (!text)
        return false;
    size_t first = strcspn(text, " ");
    bool cmdlet = isupper((unsigned char)text[0]) && memchr(text, '-', first); /* Set-NetAdapter */
    return islower((unsigned char)text[0]) || cmdlet;
}

bool tl_remedy_is_request(const char *text)
{
    return text && strncmp(text, "Ask ", strlen("Ask ")) == 0;
}
