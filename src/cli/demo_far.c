/* Others' servers at the far end of a demo: demo_far.h. */
#include "demo_far.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "tightlink/base/time.h"

#define START_NS (5 * TL_NS_PER_S)
#define LOOK_MS  20

/* A web server that answers every request with a file of 1 TB: random bytes, which nothing on the
 * way can pack. */
static const char web_server[] =
    "import http.server, os, socket\n"
    "block, length = os.urandom(1 << 20), 1 << 40\n"
    "class Handler(http.server.BaseHTTPRequestHandler):\n"
    "    protocol_version = 'HTTP/1.1'\n"
    "    def log_message(self, *_): pass\n"
    "    def do_GET(self):\n"
    "        first = self.headers.get('Range') == 'bytes=0-0'\n"
    "        self.send_response(206 if first else 200)\n"
    "        self.send_header('Content-Type', 'application/octet-stream')\n"
    "        self.send_header('Content-Length', str(1 if first else length))\n"
    "        if first: self.send_header('Content-Range', f'bytes 0-0/{length}')\n"
    "        self.end_headers()\n"
    "        try:\n"
    "            self.wfile.write(block[:1])\n"
    "            while not first: self.wfile.write(block)\n"
    "        except OSError: self.close_connection = True\n"
    "server = http.server.ThreadingHTTPServer(('', 80), Handler, bind_and_activate=False)\n"
    "server.socket.close()\n"
    "both = socket.has_dualstack_ipv6()\n"
    "family = socket.AF_INET6 if both else socket.AF_INET\n"
    "server.socket = socket.create_server(('', 80), family=family, dualstack_ipv6=both)\n"
    "server.serve_forever()\n";

static const char *const *command_of(enum tl_far_kind kind)
{
    static const char *const http[] = {"python3", "-c", web_server, NULL};
    static const char *const iperf3[] = {"iperf3", "-s", NULL};
    static const char *const nuttcp[] = {"nuttcp", "-S", "--nofork", NULL};
    return kind == TL_FAR_IPERF3   ? iperf3
           : kind == TL_FAR_NUTTCP ? nuttcp
           : kind == TL_FAR_HTTP   ? http
                                   : NULL;
}

enum tl_status cli_demo_far_parse(const char *text, enum tl_far_kind *ret_kind,
                                  struct tl_error *reterr)
{
    enum tl_far_kind kind = tl_far_kind_of_scheme(text, strlen(text));
    bool known = kind != TL_FAR_KIND_COUNT && tl_far_row(kind)->built;
    if (!known || (kind != TL_FAR_TIGHTLINK && !command_of(kind)))
        return tl_error_set(reterr, TL_USAGE,
                            "\"%.40s\" is no far end that a demo can start; there are tightlink, "
                            "iperf3, nuttcp and http",
                            text);
    *ret_kind = kind;
    return TL_OK;
}

/* Whether a process of the host's network listens on the port (proc(5), /proc/net/tcp; state 0A).
 */
static bool listens(pid_t pid, uint16_t port)
{
    static const char *const files[] = {"tcp", "tcp6"};
    bool found = false;
    for (int i = 0; i < 2 && !found; i++) {
        char path[64], line[256], wanted[16];
        snprintf(path, sizeof path, "/proc/%d/net/%s", (int)pid, files[i]);
        snprintf(wanted, sizeof wanted, ":%04X ", port);
        FILE *file = fopen(path, "re");
        while (file && !found && fgets(line, sizeof line, file))
            found = strstr(line, wanted) && strstr(line, " 0A ");
        if (file)
            fclose(file);
    }
    return found;
}

enum tl_status cli_demo_far_start(struct tl_lab *lab, enum tl_far_kind kind,
                                  struct tl_error *reterr)
{
    const char *const *argv = command_of(kind);
    int64_t until_ns = tl_now_ns() + START_NS;
    pid_t pid;
    enum tl_status status = tl_lab_spawn(lab, TL_LAB_FAR, argv, NULL, &pid, reterr);
    if (status != TL_OK)
        return tl_error_set(reterr, TL_UNSUPPORTED, "%s cannot be started: is it installed?",
                            argv[0]);
    while (!listens(pid, tl_far_row(kind)->port)) {
        if (tl_now_ns() > until_ns)
            return tl_error_set(reterr, TL_TIMEOUT, "%s did not begin to listen", argv[0]);
        (void)poll(NULL, 0, LOOK_MS);
    }
    return TL_OK;
}
