/* Prints a fixture, for the schema test, the golden files and the eye:
 *     print-fixture NAME json|text|ascii|schema [WIDTH] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixtures.h"
#include "tightlink/present/report.h"

int main(int argc, char **argv)
{
    struct fixture fixture;
    struct tl_buf out = TL_BUF_INIT;
    if (argc >= 2 && strcmp(argv[1], "schema") == 0)
        return fputs(tl_document_schema(), stdout) < 0;
    if (argc < 3 || !fixture_make(argv[1], &fixture)) {
        fprintf(stderr, "usage: print-fixture NAME json|text|ascii [WIDTH]\n");
        return 2;
    }
    struct tl_text_style style = {argc > 3 ? atoi(argv[3]) : 80, false,
                                  strcmp(argv[2], "text") == 0};
    enum tl_status status =
        strcmp(argv[2], "json") == 0
            ? tl_document_write(&fixture.run, fixture.facts, &fixture.findings, true, &out)
            : tl_report_text(&fixture.run, fixture.facts, &fixture.findings, &style, &out);
    if (status == TL_OK)
        fwrite(out.data, 1, out.len, stdout);
    tl_buf_finish(&out);
    fixture_finish(&fixture);
    return status != TL_OK;
}
