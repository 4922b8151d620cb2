/* Damaged or added: udp_damage.h. */
#include "udp_damage.h"

#include <string.h>

static void settle_below(struct udp_damage *damage, const struct udp_track *track, uint64_t end)
{
    unsigned settled = 0;
    while (settled < damage->count && damage->claims[settled] < end) {
        if (udp_track_has(track, damage->claims[settled++]))
            damage->added_count++;
        else
            damage->damaged_count++;
    }
    damage->count -= settled;
    memmove(damage->claims, damage->claims + settled, damage->count * sizeof *damage->claims);
}

void udp_damage_add(struct udp_damage *damage, const struct udp_track *track, uint64_t sequence)
{
    unsigned at = damage->count;
    /* What was told before, what came whole, and what nobody can have sent yet. */
    if (sequence < track->base || sequence >= track->next + UDP_TRACK_WINDOW / 2 ||
        udp_track_has(track, sequence)) {
        damage->added_count++;
        return;
    }
    while (at > 0 && damage->claims[at - 1] > sequence)
        at--;
    if (at > 0 && damage->claims[at - 1] == sequence) /* a path may double what it damaged */
        return;
    if (damage->count == UDP_CLAIMS_MAX) {
        settle_below(damage, track, damage->claims[UDP_CLAIMS_MAX / 2]);
        at = at > UDP_CLAIMS_MAX / 2 ? at - UDP_CLAIMS_MAX / 2 : 0;
    }
    memmove(damage->claims + at + 1, damage->claims + at,
            (damage->count - at) * sizeof *damage->claims);
    damage->claims[at] = sequence;
    damage->count++;
}

void udp_damage_settle(struct udp_damage *damage, const struct udp_track *track)
{
    if (damage->count > 0 && track->next > UDP_TRACK_WINDOW / 2 &&
        damage->claims[0] < track->next - UDP_TRACK_WINDOW / 2)
        settle_below(damage, track, track->next - UDP_TRACK_WINDOW / 2);
}

void udp_damage_close(struct udp_damage *damage, const struct udp_track *track, uint64_t sent_count)
{
    settle_below(damage, track, sent_count > track->next ? sent_count : track->next);
    damage->added_count += damage->count; /* numbers that nobody sent */
    damage->count = 0;
    if (damage->added_count == 0 || damage->added_count < damage->damaged_count)
        return;
    damage->added_count += damage->damaged_count;
    damage->damaged_count = 0;
}
