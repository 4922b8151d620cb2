/* ncursesw as a painter of cells. */
#define NCURSES_WIDECHAR 1
#include "terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "state.h"

/* After all others: their macros take words like columns and lines. */
#include <curses.h>
#include <term.h>

/* Longest end-of-screen sequence of any entry that was seen is some 40 bytes. */
#define RESTORE_MAX 256

static struct {
    SCREEN *screen;
    struct termios before;
    bool has_before, color;
    char restore[RESTORE_MAX]; /* what makes the terminal usable again, for a crash */
    size_t restore_len;
    MEVENT mouse; /* the last */
} terminal;

static const int fatal_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
#define FATAL_COUNT (sizeof fatal_signals / sizeof *fatal_signals)
static struct sigaction fatal_before[FATAL_COUNT];

/* Only async-signal-safe calls (signal-safety(7)): write, tcsetattr, sigaction, raise. */
static void on_crash(int number)
{
    int errnum = errno;
    (void)!write(STDOUT_FILENO, terminal.restore, terminal.restore_len);
    if (terminal.has_before)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &terminal.before);
    for (size_t i = 0; i < FATAL_COUNT; i++)
        if (fatal_signals[i] == number)
            (void)sigaction(number, &fatal_before[i], NULL);
    errno = errnum;
    (void)raise(number); /* delivered when this handler returns */
}

static void watch_crashes(void)
{
    struct sigaction action = {.sa_handler = on_crash};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < FATAL_COUNT; i++)
        (void)sigaction(fatal_signals[i], &action, &fatal_before[i]);
}

static void add_restore_text(const char *text)
{
    size_t len = strlen(text);
    if (terminal.restore_len + len > sizeof terminal.restore)
        return;
    memcpy(terminal.restore + terminal.restore_len, text, len);
    terminal.restore_len += len;
}

static void add_restore(const char *name)
{
    const char *text = tigetstr(name);
    if (text && text != (const char *)-1)
        add_restore_text(text);
}

/* Presses of the first button and the wheel; where nothing waits for a second press. Terminals
 * that have a mouse keep shift with it for selecting text. */
static void take_mouse(void)
{
    const char *kmous = tigetstr("kmous");
    if (!kmous || kmous == (const char *)-1)
        return;
    (void)mouseinterval(0);
    if (!mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL))
        return;
    /* What xterm and those that speak like it may have been asked for (XTerm control sequences,
     * "mouse tracking"); the description of a terminal has no word for the end of it alone. */
    add_restore_text("\033[?1006;1015;1003;1002;1000l");
}

static void choose_colors(enum tl_tui_color color)
{
    const char *no_color = getenv("NO_COLOR");
    bool wanted =
        color == TL_TUI_COLOR_ALWAYS || (color == TL_TUI_COLOR_AUTO && !(no_color && *no_color));
    terminal.color = wanted && has_colors() && start_color() == OK;
    if (!terminal.color)
        return;
    (void)use_default_colors();
    (void)init_pair(1, COLOR_RED, -1);
    (void)init_pair(2, COLOR_GREEN, -1);
}

static bool is_known(const char *type)
{
    int found = 0;
    return setupterm(type, STDOUT_FILENO, &found) == OK && found == 1;
}

/* What newer terminals call themselves, over ssh to hosts that never heard of them. */
const char *tl_tui_terminal_type(void)
{
    static const char *const like[][2] = {{"xterm", "xterm-256color"},
                                          {"alacritty", "xterm-256color"},
                                          {"foot", "xterm-256color"},
                                          {"wezterm", "xterm-256color"},
                                          {"contour", "xterm-256color"},
                                          {"rio", "xterm-256color"},
                                          {"ghostty", "xterm-256color"},
                                          {"kitty", "xterm-256color"},
                                          {"iterm", "xterm-256color"},
                                          {"vte", "xterm-256color"},
                                          {"gnome", "xterm-256color"},
                                          {"konsole", "xterm-256color"},
                                          {"st-", "xterm-256color"},
                                          {"rxvt", "xterm"},
                                          {"tmux", "screen"},
                                          {"screen", "screen"},
                                          {"linux", "linux"}};
    static const char *chosen;
    const char *term = getenv("TERM");
    if (chosen || !term || !*term || strcmp(term, "dumb") == 0)
        return chosen;
    if (is_known(term))
        return chosen = term;
    for (size_t i = 0; i < sizeof like / sizeof *like && !chosen; i++) {
        if (strncmp(term, like[i][0], strlen(like[i][0])) != 0)
            continue;
        chosen = is_known(like[i][1]) ? like[i][1] : is_known("xterm") ? "xterm" : NULL;
        break;
    }
    return chosen;
}

/* Help, the way out and the moves, as consoles, xterm, tmux and PuTTY send them: a terminal is
 * often another one than its description says, and "Esc [ 2 1" would be Esc and two digits. */
static void take_function_keys(void)
{
    static const struct {
        const char *sends;
        int key;
    } keys[] = {{"\033OP", KEY_F(1)},    {"\033[11~", KEY_F(1)}, {"\033[[A", KEY_F(1)},
                {"\033[21~", KEY_F(10)}, {"\033[A", KEY_UP},     {"\033OA", KEY_UP},
                {"\033[B", KEY_DOWN},    {"\033OB", KEY_DOWN},   {"\033[C", KEY_RIGHT},
                {"\033OC", KEY_RIGHT},   {"\033[D", KEY_LEFT},   {"\033OD", KEY_LEFT},
                {"\033[1~", KEY_HOME},   {"\033[7~", KEY_HOME},  {"\033[H", KEY_HOME},
                {"\033OH", KEY_HOME},    {"\033[4~", KEY_END},   {"\033[8~", KEY_END},
                {"\033[F", KEY_END},     {"\033OF", KEY_END},    {"\033[5~", KEY_PPAGE},
                {"\033[6~", KEY_NPAGE},  {"\033[Z", KEY_BTAB}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        (void)define_key(keys[i].sends, keys[i].key);
}

enum tl_status tui_terminal_open(enum tl_tui_color color, bool mouse, struct tl_error *reterr)
{
    const char *term = getenv("TERM"), *type = tl_tui_terminal_type();
    memset(&terminal, 0, sizeof terminal);
    terminal.has_before = tcgetattr(STDIN_FILENO, &terminal.before) == 0;
    terminal.screen = type ? newterm(type, stdout, stdin) : NULL;
    if (!terminal.screen)
        return tl_error_set(reterr, TL_UNSUPPORTED,
                            "the terminal type \"%.40s\" is not known here; use tightlink run HOST",
                            term ? term : "");
    (void)cbreak();
    (void)noecho();
    (void)nonl();
    (void)keypad(stdscr, TRUE);
    take_function_keys();
    (void)nodelay(stdscr, TRUE);
    (void)set_escdelay(50);
    (void)curs_set(0);
    choose_colors(color);
    if (mouse)
        take_mouse();
    add_restore("sgr0");
    add_restore("rmkx");
    add_restore("cnorm");
    add_restore("rmcup");
    watch_crashes();
    return TL_OK;
}

void tui_terminal_close(void)
{
    if (!terminal.screen)
        return;
    (void)endwin();
    delscreen(terminal.screen);
    terminal.screen = NULL;
    for (size_t i = 0; i < FATAL_COUNT; i++)
        (void)sigaction(fatal_signals[i], &fatal_before[i], NULL);
    if (terminal.has_before)
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal.before);
}

void tui_terminal_leave(void)
{
    (void)endwin();
}

void tui_terminal_return(void)
{
    (void)clearok(stdscr, TRUE);
    (void)refresh();
}

void tui_terminal_size(int *ret_rows, int *ret_cols)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
        int rows = size.ws_row > TUI_GRID_MAX ? TUI_GRID_MAX : size.ws_row;
        int cols = size.ws_col > TUI_GRID_MAX ? TUI_GRID_MAX : size.ws_col;
        if (rows != LINES || cols != COLS)
            (void)resizeterm(rows, cols);
    }
    *ret_rows = LINES;
    *ret_cols = COLS;
}

static attr_t attributes(enum tui_ink ink, short *ret_pair)
{
    *ret_pair = 0;
    switch (ink) {
    case TUI_BOLD:
        return A_BOLD;
    case TUI_BAD:
        *ret_pair = terminal.color ? 1 : 0;
        return A_BOLD;
    case TUI_GOOD:
        *ret_pair = terminal.color ? 2 : 0;
        return A_NORMAL;
    case TUI_DIM:
        return A_DIM;
    case TUI_BAR:
    case TUI_FOCUS:
        return A_REVERSE;
    default:
        return A_NORMAL;
    }
}

static void paint_cell(int row, int col, const struct tui_cell *cell)
{
    wchar_t text[CCHARW_MAX] = L"";
    const char *from = cell->text;
    mbstate_t mb = {0};
    cchar_t character;
    short pair;
    attr_t attrs = attributes((enum tui_ink)cell->ink, &pair);
    if (mbsrtowcs(text, &from, CCHARW_MAX - 1, &mb) == (size_t)-1 || !text[0]) {
        text[0] = L'?'; /* the locale has no such character */
        text[1] = L'\0';
    }
    if (setcchar(&character, text, attrs, pair, NULL) == OK)
        (void)mvadd_wch(row, col, &character);
}

void tui_terminal_paint(const struct tui_grid *grid, const struct tui_grid *shown)
{
    if (!shown)
        (void)clearok(stdscr, TRUE);
    for (int row = 0; row < grid->rows; row++) {
        for (int col = 0; col < grid->cols; col++) {
            const struct tui_cell *cell = tui_grid_at(grid, row, col);
            const struct tui_cell *was = shown ? tui_grid_at(shown, row, col) : NULL;
            if (cell->width && !(was && memcmp(cell, was, sizeof *cell) == 0))
                paint_cell(row, col, cell);
        }
    }
    (void)refresh();
}

static int translate_mouse(void)
{
    if (getmouse(&terminal.mouse) != OK)
        return TUI_KEY_NONE;
    if (terminal.mouse.bstate & BUTTON4_PRESSED)
        return TUI_KEY_WHEEL_UP;
    if (terminal.mouse.bstate & BUTTON5_PRESSED)
        return TUI_KEY_WHEEL_DOWN;
    return terminal.mouse.bstate & BUTTON1_PRESSED ? TUI_KEY_CLICK : TUI_KEY_NONE;
}

void tui_terminal_place(int *ret_row, int *ret_col)
{
    *ret_row = terminal.mouse.y;
    *ret_col = terminal.mouse.x;
}

static int translate(int code)
{
    switch (code) {
    case KEY_MOUSE:
        return translate_mouse();
    case KEY_UP:
        return TUI_KEY_UP;
    case KEY_DOWN:
        return TUI_KEY_DOWN;
    case KEY_LEFT:
        return TUI_KEY_LEFT;
    case KEY_RIGHT:
        return TUI_KEY_RIGHT;
    case KEY_PPAGE:
        return TUI_KEY_PAGE_UP;
    case KEY_NPAGE:
        return TUI_KEY_PAGE_DOWN;
    case KEY_HOME:
        return TUI_KEY_HOME;
    case KEY_END:
        return TUI_KEY_END;
    case KEY_BACKSPACE:
        return TUI_KEY_BACKSPACE;
    case KEY_BTAB:
        return TUI_KEY_BACK_TAB;
    case KEY_F(1):
        return TUI_KEY_HELP;
    case KEY_F(10):
        return TUI_KEY_QUIT;
    case KEY_ENTER:
        return TUI_KEY_ENTER;
    default:
        return TUI_KEY_NONE;
    }
}

/* The rest of what a key sends that no description knows ("Esc [ 1 ; 5 C", ECMA-48, 5.4): it means
 * nothing, and its letters and digits are no keys. False where Escape was all. */
static bool drop_sequence(void)
{
    wint_t character = 0;
    int kind = get_wch(&character);
    if (kind == KEY_CODE_YES)
        (void)ungetch((int)character);
    if (kind != OK)
        return false;
    if (character != '[' && character != 'O') {
        (void)unget_wch((wchar_t)character);
        return false;
    }
    while (get_wch(&character) == OK && (character < 0x40 || character > 0x7e))
        ;
    return true;
}

int tui_terminal_key(bool *ret_closed)
{
    wint_t character = 0;
    struct pollfd fd = {.fd = STDIN_FILENO, .events = POLLIN};
    /* Ready and yet nothing to read is how a terminal says that it is gone. */
    bool ready = poll(&fd, 1, 0) > 0;
    errno = 0;
    int kind = get_wch(&character);
    if (kind == ERR) {
        *ret_closed = ready && (fd.revents & (POLLHUP | POLLERR | POLLNVAL));
        return TUI_KEY_NONE;
    }
    if (kind == KEY_CODE_YES) {
        int key = translate((int)character);
        return key != TUI_KEY_NONE ? key : tui_terminal_key(ret_closed);
    }
    if (character == TUI_KEY_ESCAPE && drop_sequence())
        return tui_terminal_key(ret_closed);
    switch (character) {
    case '\r':
        return TUI_KEY_ENTER;
    case 3:
        return TUI_KEY_INTERRUPT;
    case 8:
        /* ^H and backspace are one key on some terminals; help has "?" too. */
    case 127:
        return TUI_KEY_BACKSPACE;
    default:
        return (int)character;
    }
}

/* RFC 4648, section 4. */
static void write_base64(const unsigned char *data, size_t len, FILE *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < len; i += 3) {
        size_t rest = len - i;
        unsigned three = (unsigned)data[i] << 16 | (rest > 1 ? (unsigned)data[i + 1] << 8 : 0) |
                         (rest > 2 ? data[i + 2] : 0);
        fputc(digits[three >> 18], out);
        fputc(digits[three >> 12 & 63], out);
        fputc(rest > 1 ? digits[three >> 6 & 63] : '=', out);
        fputc(rest > 2 ? digits[three & 63] : '=', out);
    }
}

void tui_terminal_copy(const char *text)
{
    fputs("\033]52;c;", stdout);
    write_base64((const unsigned char *)text, strlen(text), stdout);
    fputs("\a", stdout);
    fflush(stdout);
}
