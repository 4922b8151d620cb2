/* Who we are to a far end that asks: --user, --password-file, --public-key. Private to src/cli. */
#ifndef TL_CLI_LOGIN_H
#define TL_CLI_LOGIN_H

#include "cli.h"

#define CLI_PASSWORD_SIZE   256
#define CLI_PUBLIC_KEY_SIZE 4096

/* The texts of the files; cleared by cli_login_finish(). */
struct cli_login {
    char password[CLI_PASSWORD_SIZE], public_pem[CLI_PUBLIC_KEY_SIZE];
};

/* Reads what the options name and hands it to the session's configuration; nothing where they name
 * nothing. TL_USAGE: one of the three is missing; else as tl_secret_file_read. */
enum tl_status cli_login_load(struct cli_run_options *options, struct cli_login *ret_login,
                              struct tl_error *reterr) TL_WARN_UNUSED;
void cli_login_finish(struct cli_login *login);

#endif
