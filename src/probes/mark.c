/* The mark of a run's host; mark.h tells what it is for. */
#include "tightlink/probes/mark.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ID_DIGITS  32 /* machine-id(5): 128 bits, lower-case */
#define MARK_BYTES ((TL_RUN_HOST_MARK_SIZE - 1) / 2)

/* The machine's id, or false: no file, "uninitialized", or nothing that looks like one. */
static bool read_id(const char *root, char ret_id[ID_DIGITS])
{
    char path[512];
    int n = snprintf(path, sizeof path, "%s/etc/machine-id", root);
    int fd = n > 0 && (size_t)n < sizeof path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return false;
    char text[ID_DIGITS + 1];
    ssize_t got = read(fd, text, ID_DIGITS);
    close(fd);
    text[got > 0 ? got : 0] = '\0';
    bool good = strspn(text, "0123456789abcdef") == ID_DIGITS;
    if (good)
        memcpy(ret_id, text, ID_DIGITS);
    OPENSSL_cleanse(text, sizeof text);
    return good;
}

bool tl_host_mark_make(const char *run_id, const char *root, char ret_mark[TL_RUN_HOST_MARK_SIZE])
{
    char id[ID_DIGITS], message[64];
    uint8_t digest[32];
    unsigned size = 0;
    ret_mark[0] = '\0';
    if (!read_id(root, id))
        return false;
    int len = snprintf(message, sizeof message, "tightlink run %.27s", run_id);
    bool made = OSSL_LIB_CTX_get0_global_default() && /* no memory; HMAC() would not look */
                HMAC(EVP_sha256(), id, sizeof id, (const uint8_t *)message, (size_t)len, digest,
                     &size) != NULL;
    OPENSSL_cleanse(id, sizeof id);
    for (size_t i = 0; made && i < MARK_BYTES; i++)
        snprintf(ret_mark + 2 * i, 3, "%02x", digest[i]);
    return made;
}

void tl_host_mark_set(struct tl_run *run)
{
    (void)tl_host_mark_make(run->id, "", run->host_mark);
}

enum tl_host_mark tl_host_mark_check(const struct tl_run *run, const char *root)
{
    char own[TL_RUN_HOST_MARK_SIZE];
    if (!tl_host_mark_make(run->id, root, own))
        return TL_HOST_MARK_UNKNOWN;
    if (!run->host_mark[0])
        return TL_HOST_MARK_NONE;
    return strcmp(run->host_mark, own) == 0 ? TL_HOST_MARK_OWN : TL_HOST_MARK_OTHER;
}
