/* Whether a lab can be made here: a child makes one and tells. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>

#include "tightlink/lab/lab.h"

struct answer {
    struct tl_error error;
    enum tl_lab_carrier carrier;
};

static struct answer try_out(void)
{
    struct answer answer;
    struct tl_lab_config config;
    struct tl_lab *lab = NULL;
    memset(&answer, 0, sizeof answer);
    tl_lab_config_init(&config);
    answer.error.status = tl_lab_create(&config, &lab, &answer.error);
    if (lab)
        answer.carrier = tl_lab_carrier(lab);
    tl_lab_destroy(lab);
    return answer;
}

enum tl_status tl_lab_probe(enum tl_lab_carrier *ret_carrier, struct tl_error *reterr)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return tl_error_set(reterr, tl_status_from_errno(errno), "cannot make a pipe: %s",
                            strerror(errno));
    pid_t pid = fork();
    if (pid == 0) {
        struct answer answer = try_out();
        _exit(write(ends[1], &answer, sizeof answer) != (ssize_t)sizeof answer);
    }
    close(ends[1]);
    struct answer answer;
    ssize_t len = pid < 0 ? -1 : read(ends[0], &answer, sizeof answer);
    close(ends[0]);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    if (len != (ssize_t)sizeof answer)
        return tl_error_set(reterr, TL_IO, "trying out a lab failed before it could say why");
    if (answer.error.status != TL_OK) {
        if (reterr)
            *reterr = answer.error;
        return answer.error.status;
    }
    if (ret_carrier)
        *ret_carrier = answer.carrier;
    return TL_OK;
}
