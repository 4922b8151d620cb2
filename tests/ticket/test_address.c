/* Each system's pages have addresses of their own; a number from the wire that is none makes none.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tightlink/ticket/ticket.h"

static const char text[] =
    "[ticket rt]\nsystem = rt\nurl = https://desk.example.net/rt\ntoken_file = t\nqueue = Net\n"
    "[ticket redmine]\nsystem = redmine\nurl = https://r.example.net\ntoken_file = t\nproject = n\n"
    "[ticket github]\nsystem = github\nurl = https://api.github.com\ntoken_file = t\n"
    "repository = net/ops\n"
    "[ticket ghe]\nsystem = github\nurl = https://git.example.net/api/v3\ntoken_file = t\n"
    "repository = net/ops\n"
    "[ticket gitlab]\nsystem = gitlab\nurl = https://gitlab.example.net\ntoken_file = t\n"
    "project = net/ops\n"
    "[ticket jira]\nsystem = jira-dc\nurl = https://jira.example.net\ntoken_file = t\nproject = N\n"
    "[ticket zammad]\nsystem = zammad\nurl = https://z.example.net\ntoken_file = t\ngroup = g\n"
    "customer = a@example.net\n"
    "[ticket snow]\nsystem = servicenow\nurl = https://you.example.net\ntoken_file = t\n"
    "[ticket glpi]\nsystem = glpi\nurl = https://g.example.net\ntoken_file = t\n"
    "[ticket hook]\nsystem = webhook\nurl = https://h.example.net/x\ntoken_file = t\n";

static struct tl_ticket_config *load(void)
{
    char path[] = "/tmp/tightlink-address-XXXXXX";
    struct tl_ticket_config *config = NULL;
    struct tl_error error = {0};
    int fd = mkstemp(path);
    cr_assert(fd >= 0 && write(fd, text, sizeof text - 1) == (ssize_t)(sizeof text - 1));
    close(fd);
    enum tl_status status = tl_ticket_config_load(path, &config, &error);
    unlink(path);
    cr_assert(status == TL_OK, "%s", error.text);
    return config;
}

Test(address, of_each_system)
{
    static const struct {
        const char *target, *ticket, *address;
    } cases[] = {
        {"rt", "47", "https://desk.example.net/rt/Ticket/Display.html?id=47"},
        {"redmine", "47", "https://r.example.net/issues/47"},
        {"github", "47", "https://github.com/net/ops/issues/47"},
        {"ghe", "47", "https://git.example.net/net/ops/issues/47"},
        {"gitlab", "47", "https://gitlab.example.net/net/ops/-/issues/47"},
        {"jira", "NET-4", "https://jira.example.net/browse/NET-4"},
        {"zammad", "47", "https://z.example.net/#ticket/zoom/47"},
        {"snow", "a1b2", "https://you.example.net/nav_to.do?uri=incident.do%3Fsys_id%3Da1b2"},
        {"glpi", "47", "https://g.example.net/front/ticket.form.php?id=47"}};
    struct tl_ticket_config *config = load();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char address[200] = "";
        cr_expect(
            tl_ticket_address(config, cases[i].target, cases[i].ticket, address, sizeof address));
        cr_expect_str_eq(address, cases[i].address);
    }
    tl_ticket_config_destroy(config);
}

Test(address, none_where_there_is_no_page_number_or_room)
{
    struct tl_ticket_config *config = load();
    char address[40] = "as before";
    cr_expect(!tl_ticket_address(config, "hook", "47", address, sizeof address));
    cr_expect(!tl_ticket_address(config, "nobody", "47", address, sizeof address));
    cr_expect(!tl_ticket_address(config, "redmine", "", address, sizeof address));
    cr_expect(!tl_ticket_address(config, "redmine", "4/../7", address, sizeof address));
    cr_expect(!tl_ticket_address(config, "rt", "47", address, sizeof address));
    cr_expect_str_eq(address, "as before");
    tl_ticket_config_destroy(config);
}
