/* Places that routers' names tell; places.h says how far they are to be believed. */
#include "places.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Light in a fibre: the group index of ITU-T G.652 is 1.468 at 1550 nm. */
#define FIBRE_KM_PER_S (299792.458 / 1.468)
#define EARTH_KM       6371.0

enum { CODE_MIN = 3, TOKEN_SIZE = 32, OWNER_LABELS = 2 };

/* Towns in which long lines meet. Codes that are words of routers' names as well are left out. */
static const struct tl_place places[] = {
    {"Amsterdam", 52.37, 4.90, "ams amsterdam amstnl"},
    {"Ashburn", 39.04, -77.49, "iad ashburn asbnva"},
    {"Athens", 37.98, 23.73, "ath athens"},
    {"Atlanta", 33.75, -84.39, "atl atlanta atlnga"},
    {"Auckland", -36.85, 174.76, "akl auckland"},
    {"Bangkok", 13.76, 100.50, "bkk bangkok"},
    {"Barcelona", 41.39, 2.17, "bcn barcelona"},
    {"Berlin", 52.52, 13.41, "ber txl berlin"},
    {"Bogota", 4.71, -74.07, "bog bogota"},
    {"Boston", 42.36, -71.06, "bos boston bstnma"},
    {"Brussels", 50.85, 4.35, "bru brussels"},
    {"Bucharest", 44.43, 26.10, "otp buh bucharest"},
    {"Budapest", 47.50, 19.04, "bud budapest"},
    {"Buenos Aires", -34.60, -58.38, "eze buenosaires"},
    {"Cape Town", -33.92, 18.42, "cpt capetown"},
    {"Chennai", 13.08, 80.27, "maa chennai"},
    {"Chicago", 41.88, -87.63, "ord chi chicago chcgil"},
    {"Copenhagen", 55.68, 12.57, "cph copenhagen"},
    {"Dallas", 32.78, -96.80, "dfw dallas dllstx"},
    {"Denver", 39.74, -104.99, "denver dnvrco"},
    {"Dubai", 25.20, 55.27, "dxb dubai"},
    {"Dublin", 53.35, -6.26, "dub dublin"},
    {"Frankfurt", 50.11, 8.68, "fra ffm frankfurt frnkge frnkde"},
    {"Hamburg", 53.55, 9.99, "ham hamburg"},
    {"Helsinki", 60.17, 24.94, "hel helsinki"},
    {"Hong Kong", 22.32, 114.17, "hkg hongkong"},
    {"Istanbul", 41.01, 28.98, "istanbul"},
    {"Jakarta", -6.21, 106.85, "cgk jakarta"},
    {"Johannesburg", -26.20, 28.05, "jnb johannesburg"},
    {"Kuala Lumpur", 3.14, 101.69, "kul kualalumpur"},
    {"Lisbon", 38.72, -9.14, "lis lisbon"},
    {"London", 51.51, -0.13, "lon lhr london londen"},
    {"Los Angeles", 34.05, -118.24, "lax losangeles lsanca"},
    {"Madrid", 40.42, -3.70, "mad madrid mdrdsp"},
    {"Marseille", 43.30, 5.37, "mrs marseille"},
    {"Melbourne", -37.81, 144.96, "melbourne"},
    {"Miami", 25.76, -80.19, "mia miami miamfl"},
    {"Milan", 45.46, 9.19, "mxp milan milano"},
    {"Montreal", 45.50, -73.57, "yul montreal"},
    {"Moscow", 55.76, 37.62, "svo moscow"},
    {"Mumbai", 19.08, 72.88, "bom mumbai"},
    {"Munich", 48.14, 11.58, "muc munich muenchen"},
    {"Nairobi", -1.29, 36.82, "nbo nairobi"},
    {"New York", 40.71, -74.01, "nyc jfk ewr newyork nycmny nwrknj"},
    {"Osaka", 34.69, 135.50, "kix osaka"},
    {"Oslo", 59.91, 10.75, "osl oslo"},
    {"Paris", 48.86, 2.35, "par cdg paris parsfr"},
    {"Phoenix", 33.45, -112.07, "phx phoenix"},
    {"Prague", 50.08, 14.44, "prg prague praha"},
    {"San Jose", 37.34, -121.89, "sjc sanjose snjsca paloalto"},
    {"Santiago", -33.45, -70.67, "scl santiago"},
    {"Sao Paulo", -23.55, -46.63, "gru saopaulo"},
    {"Seattle", 47.61, -122.33, "sea seattle sttlwa"},
    {"Seoul", 37.57, 126.98, "icn seoul"},
    {"Singapore", 1.35, 103.82, "sin sgp singapore sngpsi"},
    {"Sofia", 42.70, 23.32, "sof sofia"},
    {"Stockholm", 59.33, 18.07, "arn sto stockholm"},
    {"Sydney", -33.87, 151.21, "syd sydney sydnau"},
    {"Taipei", 25.03, 121.57, "tpe taipei"},
    {"Tel Aviv", 32.09, 34.78, "tlv telaviv"},
    {"Tokyo", 35.68, 139.69, "nrt tyo tokyo tokyjp"},
    {"Toronto", 43.65, -79.38, "yyz toronto"},
    {"Vienna", 48.21, 16.37, "vie vienna wien"},
    {"Warsaw", 52.23, 21.01, "waw warsaw warszawa"},
    {"Washington", 38.91, -77.04, "dca washington washdc"},
    {"Zurich", 47.38, 8.54, "zrh zurich zuerich"},
};

static bool has_code(const struct tl_place *place, const char *token, size_t len)
{
    const char *code = place->codes;
    while (*code) {
        size_t size = strcspn(code, " ");
        if (size == len && strncmp(code, token, len) == 0)
            return true;
        code += size;
        code += strspn(code, " ");
    }
    return false;
}

static const struct tl_place *find_place(const char *token, size_t len)
{
    for (size_t i = 0; len >= CODE_MIN && i < sizeof places / sizeof *places; i++)
        if (has_code(&places[i], token, len))
            return &places[i];
    return NULL;
}

/* The name without the labels of whoever runs the router. */
static size_t router_part(const char *name)
{
    size_t len = strlen(name);
    for (int label = 0; label < OWNER_LABELS && len > 0; label++)
        do
            len--;
        while (len > 0 && name[len] != '.');
    return len;
}

const struct tl_place *tl_place_of_name(const char *name)
{
    const struct tl_place *found = NULL;
    size_t len = router_part(name), at = 0;
    while (at < len) {
        char token[TOKEN_SIZE];
        size_t size = 0;
        while (at < len && !isalpha((unsigned char)name[at]))
            at++;
        for (; at < len && isalpha((unsigned char)name[at]); at++)
            if (size < sizeof token)
                token[size++] = (char)tolower((unsigned char)name[at]);
        const struct tl_place *place = find_place(token, size);
        if (place && found && place != found)
            return NULL;
        found = place ? place : found;
    }
    return found;
}

double tl_place_rtt_ns(const struct tl_place *from, const struct tl_place *to)
{
    const double degree = acos(-1) / 180;
    double north = sin((to->latitude - from->latitude) * degree / 2),
           east = sin((to->longitude - from->longitude) * degree / 2);
    /* The haversine formula. */
    double half =
        north * north + cos(from->latitude * degree) * cos(to->latitude * degree) * east * east;
    double km = 2 * EARTH_KM * asin(sqrt(fmin(half, 1)));
    return 2 * km / FIBRE_KM_PER_S * 1e9;
}

/* The way as far as its routers' names tell it. */
struct way {
    const struct tl_place *first, *last;
    double first_rtt_ns, last_rtt_ns, by_places_ns;
    char text[256];
    size_t len;
};

static void go_on(struct way *way, const struct tl_place *place, double rtt_ns)
{
    if (place != way->last) {
        if (way->last)
            way->by_places_ns += tl_place_rtt_ns(way->last, place);
        if (way->len < sizeof way->text)
            way->len += (size_t)snprintf(way->text + way->len, sizeof way->text - way->len, "%s%s",
                                         way->last ? ", " : "", place->town);
    }
    if (!way->first) {
        way->first = place;
        way->first_rtt_ns = rtt_ns;
    }
    way->last = place;
    way->last_rtt_ns = rtt_ns;
}

static const struct tl_fact_key told[] = {TL_PATH(places_names), TL_PATH(places_straight_ns),
                                          TL_PATH(places_way_ns), TL_PATH(places_rtt_ns)};

void tl_places_set(struct tl_facts *facts, const struct tl_run *run)
{
    struct way way = {0};
    for (int i = 0; i < run->hop_count && i < TL_RUN_HOPS_MAX; i++) {
        const struct tl_hop_record *hop = &run->hops[i];
        const struct tl_place *place = hop->name[0] ? tl_place_of_name(hop->name) : NULL;
        if (place && isfinite(hop->rtt_min_ns))
            go_on(&way, place, hop->rtt_min_ns);
    }
    if (!way.first || way.by_places_ns <= 0) {
        for (size_t i = 0; i < sizeof told / sizeof *told; i++)
            tl_facts_set_unknown(facts, told[i], "the routers' names tell no two places");
        return;
    }
    tl_facts_set_text(facts, TL_PATH(places_names), way.text, "reverse names of the routers");
    tl_facts_set_number(facts, TL_PATH(places_straight_ns), tl_place_rtt_ns(way.first, way.last),
                        "great circle in glass");
    tl_facts_set_number(facts, TL_PATH(places_way_ns), way.by_places_ns,
                        "the same, place by place");
    tl_facts_set_number(facts, TL_PATH(places_rtt_ns), fmax(way.last_rtt_ns - way.first_rtt_ns, 0),
                        "least answers of the routers");
}
