/* Where a ticket stands for people who read it: the page of it that each system has. */
#include <stdio.h>
#include <string.h>

#include "config.h"

/* The address up to the ticket's number, which ends it; nothing for a webhook. */
static void page_of(const struct ticket_target *target, struct tl_buf *out)
{
    const char *system = target->system->name, *url = target->values[KEY_URL];
    const char *table = target->values[KEY_TABLE];
    if (strcmp(system, "rt") == 0) {
        tl_buf_addf(out, "%s/Ticket/Display.html?id=", url);
    } else if (strcmp(system, "redmine") == 0) {
        tl_buf_addf(out, "%s/issues/", url);
    } else if (strcmp(system, "gitlab") == 0) {
        tl_buf_addf(out, "%s/%s/-/issues/", url, target->values[KEY_PROJECT]);
    } else if (strncmp(system, "jira", 4) == 0) {
        tl_buf_addf(out, "%s/browse/", url);
    } else if (strcmp(system, "zammad") == 0) {
        tl_buf_addf(out, "%s/#ticket/zoom/", url);
    } else if (strcmp(system, "servicenow") == 0) {
        tl_buf_addf(out, "%s/nav_to.do?uri=%s.do%%3Fsys_id%%3D", url, *table ? table : "incident");
    } else if (strcmp(system, "glpi") == 0) {
        tl_buf_addf(out, "%s/front/ticket.form.php?id=", url);
    } else if (strcmp(system, "github") == 0) {
        /* The interface of github.com has a host of its own, that of a company's server a folder.
         */
        const char *api = strstr(url, "/api/v3");
        bool common = strcmp(url, "https://api.github.com") == 0;
        int len = (int)(api ? (size_t)(api - url) : strlen(url));
        tl_buf_addf(out, "%.*s/%s/issues/", common ? 18 : len, common ? "https://github.com" : url,
                    target->values[KEY_REPOSITORY]);
    }
}

bool tl_ticket_address(const struct tl_ticket_config *config, const char *name, const char *ticket,
                       char *ret_address, size_t size)
{
    const struct ticket_target *target = ticket_config_find(config, name, NULL);
    struct tl_buf address = TL_BUF_INIT;
    if (!target || !ticket[0] || ticket_check_name(ticket, NULL) != TL_OK)
        return false;
    page_of(target, &address);
    bool known = address.len > 0;
    tl_buf_adds(&address, ticket);
    bool fits = known && address.status == TL_OK && address.len < size;
    if (fits)
        snprintf(ret_address, size, "%s", tl_buf_text(&address));
    tl_buf_finish(&address);
    return fits;
}
