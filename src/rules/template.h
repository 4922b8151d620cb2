/* Sentences with holes: "its buffer stops at {flow.snd_wnd_max_bytes|bytes}".
 *
 *   {formula|format}  a value; formats: bps bytes traffic ns ratio count number integer bool text
 *                     words (a text of several)
 *   {formula|format|text}  the same, with a text that stands for an unknown value
 *   {word}            place, Place, sender, Sender, receiver, Receiver, direction:
 *                     "this PC" or "the far end", as the direction has it
 *   [[ ... ]]         left out as a whole when a value in it is unknown
 *   [[?id| ... ]]     the same, and unless the rule's test or condition of that name holds
 *   [[!id| ... ]]     the same, and where it holds (kept where it is unknown)
 *   {{ and }}         braces
 *
 * Private to the rules layer. */
#ifndef TL_RULES_TEMPLATE_H
#define TL_RULES_TEMPLATE_H

#include "formula.h"
#include "tightlink/base/buf.h"

#define TL_TEMPLATE_CHARS_MAX  2048
#define TL_TEMPLATE_PIECES_MAX 64

struct tl_logic;
struct tl_trace;

struct tl_template {
    const char *text; /* as written; NULL: not given */
    size_t piece_count;
    struct tl_template_piece *pieces;
};

/* What the words stand for in one judgement (static or longer-lived texts), and what the rule's
 * tests saw, for the groups that ask; NULL where no template has such a group. */
struct tl_template_words {
    const char *place, *sender, *receiver, *direction;
    const struct tl_trace *traces;
};

/* Finds the condition that a group names; NULL where there is none. */
struct tl_template_conditions {
    const struct tl_logic *(*find)(void *context, const char *id);
    void *context;
};

/* Parses and checks units against formats. The error names the place. conditions may be NULL: no
 * group may ask then. */
enum tl_status tl_template_compile(struct tl_arena *arena, struct tl_formula_scope *scope,
                                   const struct tl_template_conditions *conditions,
                                   const char *text, struct tl_template *ret_template,
                                   struct tl_error *reterr) TL_WARN_UNUSED;

/* Adds the text. False if a value outside of [[ ]] was unknown; "unknown" stands in its place.
 * A template that was not given adds nothing and is complete. */
bool tl_template_render(const struct tl_template *template, const struct tl_formula_env *env,
                        const struct tl_template_words *words, struct tl_buf *out);

/* The same for a text that people put into a shell, or that tightlink does for them. Texts that
 * come from outside are names then: [A-Za-z0-9._:@-], not begun by . or -, at most 63 bytes (of
 * `words`: blanks and commas as well). Where it is a command (tl_remedy_is_command) numbers are
 * exact. Where one is anything else false, and *ret_unsafe is its formula as it is written, owned
 * by the template; what was added to out is of no use. Else *ret_unsafe is NULL. */
bool tl_template_render_command(const struct tl_template *template,
                                const struct tl_formula_env *env,
                                const struct tl_template_words *words, const char **ret_unsafe,
                                struct tl_buf *out);

/* Adds the text for a page about the rule: facts and names as <name>, other formulas as
 * <computed>, places as roles, all groups kept, those that ask a test in brackets. role stands for
 * {place}. */
void tl_template_outline(const struct tl_template *template, const char *role, struct tl_buf *out);

#endif
