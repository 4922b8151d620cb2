/* Which part of a mesh is named the worst. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tightlink/app/mesh.h"

static struct tl_mesh even(size_t count)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    struct tl_mesh mesh = {.count = count};
    for (size_t i = 0; i < count; i++) {
        mesh.names[i] = names[i];
        for (size_t j = 0; j < count; j++)
            mesh.cells[i][j] =
                (struct tl_mesh_cell){.rate_bps = i == j ? NAN : 900e6, .rtt_ns = 10e6};
    }
    return mesh;
}

static struct tl_mesh_worst judge(const struct tl_mesh *mesh)
{
    struct tl_mesh_worst worst;
    tl_app_mesh_judge(mesh, &worst);
    return worst;
}

Test(mesh, ways_alike_accuse_nobody)
{
    struct tl_mesh mesh = even(4);
    mesh.cells[1][2].rate_bps = 700e6;
    struct tl_mesh_worst worst = judge(&mesh);
    cr_assert_eq(worst.where, TL_MESH_EVEN);
    cr_assert(strstr(worst.sentence, "No part stands out"), "%s", worst.sentence);
}

Test(mesh, a_node_that_is_slow_to_all_is_named)
{
    struct tl_mesh mesh = even(3);
    mesh.cells[0][2].rate_bps = mesh.cells[1][2].rate_bps = 90e6;
    struct tl_mesh_worst worst = judge(&mesh);
    cr_assert_eq(worst.where, TL_MESH_NODE, "%s", worst.sentence);
    cr_assert_eq(worst.from, 2);
    cr_assert(strstr(worst.sentence, "c is the worst part: all that goes into it"), "%s",
              worst.sentence);
    mesh.cells[2][0].rate_bps = mesh.cells[2][1].rate_bps = 80e6;
    worst = judge(&mesh);
    cr_assert(strstr(worst.sentence, "c is the worst part: all that goes to and from it"), "%s",
              worst.sentence);
}

Test(mesh, one_way_between_fast_nodes_is_the_way)
{
    struct tl_mesh mesh = even(3);
    mesh.cells[0][1].rate_bps = 90e6;
    struct tl_mesh_worst worst = judge(&mesh);
    cr_assert_eq(worst.where, TL_MESH_WAY);
    cr_assert(worst.from == 0 && worst.to == 1);
    cr_assert(strstr(worst.sentence, "between them"), "%s", worst.sentence);
    cr_assert_not(strstr(worst.sentence, "buffers"), "%s", worst.sentence);
    mesh.cells[0][1].rtt_ns = 100e6; /* ten times as long, a tenth of the rate */
    worst = judge(&mesh);
    cr_assert(strstr(worst.sentence, "buffers"), "%s", worst.sentence);
}

Test(mesh, two_nodes_cannot_tell_which)
{
    struct tl_mesh mesh = even(2);
    mesh.cells[0][1].rate_bps = 90e6;
    struct tl_mesh_worst worst = judge(&mesh);
    cr_assert(strstr(worst.sentence, "A third node would tell"), "%s", worst.sentence);
    mesh.cells[0][1].rate_bps = mesh.cells[1][0].rate_bps = NAN;
    cr_assert_eq(judge(&mesh).where, TL_MESH_UNKNOWN);
}

Test(mesh, a_second_path_of_ones_own_tells_where_the_first_is_slow)
{
    struct tl_mesh mesh = even(3);
    mesh.own[0] = (struct tl_mesh_own){.far = "c", .bps = 90e6};
    mesh.own[1] = (struct tl_mesh_own){.far = "a", .bps = 880e6};
    mesh.own_count = 2;
    mesh.cells[2][0].rate_bps = 960e6; /* so that it is a that has most from there */
    struct tl_mesh_worst worst = judge(&mesh);
    cr_assert(strstr(worst.own, "between this PC and that end alone"), "%s", worst.own);
    mesh.own[1].bps = 95e6;
    worst = judge(&mesh);
    cr_assert(strstr(worst.own, "With a, too, this PC has only 95 Mb/s"), "%s", worst.own);
    cr_assert(strstr(worst.own, "what all its ways share"), "%s", worst.own);
    mesh.own[1].is_upload = true;
    worst = judge(&mesh);
    cr_assert(strstr(worst.own, "would tell which"), "%s", worst.own);
}

Test(mesh, the_own_path_stands_beside_the_nodes)
{
    struct tl_mesh mesh = even(3);
    mesh.own[0] = (struct tl_mesh_own){.far = "c", .bps = 90e6};
    mesh.own_count = 1;
    struct tl_mesh_worst worst = judge(&mesh);
    cr_assert(strstr(worst.own, "lies here or on its way to the mesh"), "%s", worst.own);
    mesh.cells[2][0].rate_bps = mesh.cells[2][1].rate_bps = 95e6;
    worst = judge(&mesh);
    cr_assert(strstr(worst.own, "what limits it limits them too"), "%s", worst.own);
    mesh.own[0].far = "elsewhere";
    cr_assert_str_eq(judge(&mesh).own, "");
}
