/* From a run's record to the question the rules answer. */
#include "tightlink/session/question.h"

void tl_question_of_run(const struct tl_run *run, struct tl_question *ret_question)
{
    *ret_question = (struct tl_question){
        .download = run->download,
        .upload = run->upload,
        .overheard = tl_run_is_of_others(run),
        .goal_bps = run->goal_bps,
        .goal_rtt_ns = run->goal_rtt_ns,
        .quality = run->quality,
        .quality_reason = run->reason_count ? run->reasons[0] : "",
    };
}
