/* A temporary folder of rule files. */
#include "folder.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[64];

const char *const sound_rule =
    "{\"format\": \"tightlink.rule/1\", \"id\": \"sound\", \"cause\": \"capacity\",\n"
    " \"segment\": \"path\", \"title\": \"A sound rule\", \"severity\": \"limits\",\n"
    " \"names\": {\"twice\": \"2 * flow.goodput_bps\"},\n"
    " \"when\": {\"all\": [{\"id\": \"one\", \"test\": [\"flow.goodput_bps\", \">\", \"1Mbps\"]},\n"
    "   {\"id\": \"two\", \"test\": [\"flow.cc\", \"in\", [\"cubic\", \"reno\"]]}]},\n"
    " \"ceiling\": {\"bps\": \"twice\", \"label\": \"twice\"},\n"
    " \"sentence\": {\"found\": \"f\", \"ruled_out\": \"r\", \"unsure\": \"u\"}}\n";

const char *folder_make(void)
{
    strcpy(path, "/tmp/tl-rules-XXXXXX");
    cr_assert_not_null(mkdtemp(path));
    return path;
}

void folder_add(const char *name, const char *text, size_t len)
{
    char file[512];
    snprintf(file, sizeof file, "%s/%s", path, name);
    FILE *out = fopen(file, "wb");
    cr_assert_not_null(out);
    cr_assert_eq(fwrite(text, 1, len, out), len);
    fclose(out);
}

void folder_add_text_changed(const char *name, const char *rule, const char *piece, const char *by)
{
    char text[8192];
    const char *at = strstr(rule, piece);
    cr_assert_not_null(at, "the rule has no %s", piece);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - rule), rule, by, at + strlen(piece));
    folder_add(name, text, strlen(text));
}

void folder_add_changed(const char *name, const char *piece, const char *by)
{
    folder_add_text_changed(name, sound_rule, piece, by);
}

void folder_remove(void)
{
    char file[512];
    struct dirent *entry;
    DIR *dir = opendir(path);
    while (dir && (entry = readdir(dir))) {
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.')
            unlink(file);
    }
    if (dir)
        closedir(dir);
    rmdir(path);
}
