/* Why a transfer ended: said by the engine, judged by facts. */
#ifndef TL_BASE_TCP_END_H
#define TL_BASE_TCP_END_H

#define TL_TCP_END_MAP(X)                                                                          \
    X(NOT_RUN, "the test did not begin")                                                           \
    X(KNOWN, "what was wanted of it was known")                                                    \
    X(DEADLINE, "its time was over")                                                               \
    X(BYTES, "its bytes were moved")                                                               \
    X(CANCELLED, "it was cancelled")                                                               \
    X(SILENT, "nothing came back: the path or the far end is dead")                                \
    X(LOST, "the far end closed the connection without an end")                                    \
    X(UNHEARD, "the far end heard nothing from this program")                                      \
    X(FAILED, "the far end reported a failure")                                                    \
    X(UNRULY, "the far end did not keep to what was agreed")

enum tl_tcp_end {
#define TL_TCP_END_ENUM(name, text) TL_TCP_END_##name,
    TL_TCP_END_MAP(TL_TCP_END_ENUM)
#undef TL_TCP_END_ENUM
};

#endif
