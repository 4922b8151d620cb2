/* tightlink key NAME: a new key, to standard output or into a file that only we may read. */
#include "cli.h"
#include "words.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "tightlink/app/files.h"
#include "tightlink/base/key.h"

/* An existing file is never touched: it may hold keys that are in use. */
static int write_new_file(const char *path, const char *line)
{
    size_t len = strlen(line);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 && errno == EEXIST) {
        int exit_code = cli_refuse_taken(path);
        if (tl_app_is_taken(path))
            cli_complain("a key is added to a file by hand: tightlink key NAME >> %s", path);
        return exit_code;
    }
    if (fd >= 0 && write(fd, line, len) == (ssize_t)len && fsync(fd) == 0 && close(fd) == 0)
        return CLI_EXIT_OK;
    cli_complain("%s: %s", path, strerror(errno));
    if (fd >= 0)
        (void)unlink(path);
    return CLI_EXIT_EXPORT;
}

static int deliver(const char *name, const char *path)
{
    char line[TL_KEY_LINE_SIZE];
    struct tl_error error = {0};
    if (tl_key_line_make(name, line, &error) != TL_OK)
        return cli_fail(&error);
    int exit_code = CLI_EXIT_OK;
    if (path)
        exit_code = write_new_file(path, line);
    else if (!cli_write_stdout(line, strlen(line))) {
        cli_complain("writing the key failed: %s", strerror(errno));
        exit_code = CLI_EXIT_EXPORT;
    }
    explicit_bzero(line, sizeof line);
    if (exit_code == CLI_EXIT_OK && path)
        fprintf(stderr,
                "tightlink: the key %s is in %s. Copy the file to the far end by a way that keeps "
                "secrets;\nthere: tightlink serve --key FILE, here: tightlink run HOST --key %s\n",
                name, path, path);
    return exit_code;
}

struct making {
    const char *path; /* NULL: standard output */
};

static const struct cli_option options[] = {
    {CLI_OUT("out", struct making, path), .letter = 'o'},
    {.name = NULL},
};

int cli_key(const struct cli_command *command, int argc, char **argv)
{
    struct making making = {NULL};
    struct cli_words words = {command, argc, argv, false, CLI_EXIT_OK};
    if (!cli_take_options(&words, options, &making))
        return words.exit_code;
    if (words.argc != 1)
        return cli_usage(command, "one name for the key, for instance: tightlink key lab-1");
    return deliver(words.argv[0], making.path);
}
