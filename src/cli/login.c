/* Who we are to a far end that asks: login.h. */
#include "login.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tightlink/base/secret.h"

/* No secret: anybody's file will do. */
static enum tl_status read_public(const char *path, char ret_text[CLI_PUBLIC_KEY_SIZE],
                                  struct tl_error *reterr)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return tl_error_set(reterr, TL_IO, "public key %.200s: %s", path, strerror(errno));
    size_t len = fread(ret_text, 1, CLI_PUBLIC_KEY_SIZE, file);
    fclose(file);
    if (len == CLI_PUBLIC_KEY_SIZE)
        return tl_error_set(reterr, TL_LIMIT, "public key %.200s: more than %d bytes", path,
                            CLI_PUBLIC_KEY_SIZE - 1);
    ret_text[len] = '\0';
    return TL_OK;
}

enum tl_status cli_login_load(struct cli_run_options *options, struct cli_login *ret_login,
                              struct tl_error *reterr)
{
    size_t len;
    memset(ret_login, 0, sizeof *ret_login);
    if (!options->login.user && !options->password_file && !options->public_key_file)
        return TL_OK;
    if (!options->login.user || !options->password_file || !options->public_key_file)
        return tl_error_set(reterr, TL_USAGE,
                            "--user, --password-file and --public-key go together");
    enum tl_status status =
        tl_secret_file_read(options->password_file, "password file", ret_login->password,
                            sizeof ret_login->password, &len, reterr);
    if (status == TL_OK)
        status = read_public(options->public_key_file, ret_login->public_pem, reterr);
    if (status != TL_OK)
        return status;
    ret_login->password[strcspn(ret_login->password, "\r\n")] = '\0';
    options->login.password = ret_login->password;
    options->login.public_pem = ret_login->public_pem;
    options->config.login = &options->login;
    return TL_OK;
}

void cli_login_finish(struct cli_login *login)
{
    explicit_bzero(login, sizeof *login);
}
