/* Signals without SA_RESTART, some thousand a second: every reading says what it says in peace. */
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/time.h>

#include "tightlink/host/counters.h"
#include "tightlink/host/cpu.h"
#include "tightlink/host/host.h"

TestSuite(host_signals);

static volatile sig_atomic_t alarms;

static void on_alarm(int number)
{
    alarms = alarms + 1;
}

static void storm(long interval_us)
{
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval timer = {.it_interval.tv_usec = interval_us, .it_value.tv_usec = interval_us};

    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

Test(host_signals, change_no_reading)
{
    static struct tl_host_settings calm, stormy;
    static struct tl_host_counters calm_counters, stormy_counters;
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct tl_cpu_reader reader;
    static struct tl_cpu_reading reading;

    int ifindex = tl_host_settings_read(&calm, (const struct sockaddr *)&peer);
    tl_host_counters_read(&calm_counters, "", ifindex);
    storm(200);
    for (int round = 0; round < 50 || (alarms < 50 && round < 5000); round++) {
        cr_assert_eq(tl_host_settings_read(&stormy, (const struct sockaddr *)&peer), ifindex);
        for (unsigned i = 0; i < TL_HOST_NUMBER_COUNT; i++)
            cr_assert_eq(stormy.numbers[i].why, calm.numbers[i].why, "%s: %s",
                         tl_host_number_field(i)->name, tl_host_why_text(stormy.numbers[i].why));
        tl_host_counters_read(&stormy_counters, "", ifindex);
        for (unsigned i = 0; i < TL_HOST_COUNTER_COUNT; i++)
            cr_assert_eq(stormy_counters.why[i], calm_counters.why[i], "%s: %s",
                         tl_host_counter_name(i), tl_host_why_text(stormy_counters.why[i]));
        tl_cpu_reader_init(&reader, "");
        tl_cpu_reading_take(&reader, &reading);
        cr_assert_eq(reading.cores_why, TL_HOST_WHY_KNOWN);
    }
    storm(0);
    cr_expect_geq(alarms, 20, "the storm blew: %d", (int)alarms);
}
