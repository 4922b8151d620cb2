/* Reads a recorded series (see record.c) into logs of both ends. */
#ifndef TL_TESTS_RECORDED_READ_H
#define TL_TESTS_RECORDED_READ_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fields.h"

#define RECORDED_STREAMS 32

struct recorded {
    unsigned streams;
    struct tl_sample_log senders[RECORDED_STREAMS], receivers[RECORDED_STREAMS];
};

/* One line; false for comments. */
static inline bool recorded_line(char *line, char *ret_end, struct tl_tcp_sample *ret_sample)
{
    char *save, *word = strtok_r(line, "\t\n", &save);
    *ret_sample = (struct tl_tcp_sample){0};
    if (!word || (*word != 's' && *word != 'r'))
        return false;
    *ret_end = *word;
    ret_sample->stream = (uint32_t)strtoul(strtok_r(NULL, "\t\n", &save), NULL, 10);
    ret_sample->time_ns = strtoll(strtok_r(NULL, "\t\n", &save), NULL, 10);
    for (size_t f = 0; f < RECORDED_COUNT && (word = strtok_r(NULL, "\t\n", &save)); f++)
        if (*word != '-')
            tl_sample_set(ret_sample, recorded_fields[f], strtoull(word, NULL, 10));
    return true;
}

/* False when the file is not there. */
static inline bool recorded_read(const char *path, struct recorded *ret_recorded)
{
    char line[1024], end;
    struct tl_tcp_sample sample;
    FILE *file = fopen(path, "r");
    memset(ret_recorded, 0, sizeof *ret_recorded);
    if (!file)
        return false;
    while (fgets(line, sizeof line, file)) {
        if (!recorded_line(line, &end, &sample) || sample.stream >= RECORDED_STREAMS)
            continue;
        struct tl_sample_log *logs = end == 's' ? ret_recorded->senders : ret_recorded->receivers;
        if (tl_sample_log_add(&logs[sample.stream], &sample, 10000) != TL_OK)
            break;
        if (sample.stream >= ret_recorded->streams)
            ret_recorded->streams = sample.stream + 1;
    }
    fclose(file);
    return true;
}

static inline void recorded_finish(struct recorded *recorded)
{
    for (unsigned i = 0; i < RECORDED_STREAMS; i++) {
        tl_sample_log_finish(&recorded->senders[i]);
        tl_sample_log_finish(&recorded->receivers[i]);
    }
}

#endif
