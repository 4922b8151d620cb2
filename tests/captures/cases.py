"""The labelled transfers: what limits each, and how it is modelled (fields of struct model_spec).

A label is the cause that a capture of it should name; "any of" several where two names mean the
same limit there (a link kept full by its only user is full, whatever its queue does)."""

# A queue so short that it costs the flow less than a tenth: the link is as good as full.
NEARLY_FULL = ["shallow-buffer", "capacity"]

# label, causes that are right, numbers
CASES = [
    ("receive-window", ["receive-window"], dict(rcvbuf_kb=131, delay_ms=15, link_mbps=200)),
    ("receive-window", ["receive-window"], dict(rcvbuf_kb=262, delay_ms=40)),
    ("receive-window", ["receive-window"], dict(rcvbuf_kb=64, delay_ms=5, jitter_ms=0.3)),
    ("receive-window", ["receive-window"], dict(rcvbuf_kb=524, delay_ms=50, reno=1)),
    ("send-buffer", ["send-buffer"], dict(sndbuf_kb=87, delay_ms=15, link_mbps=300)),
    ("send-buffer", ["send-buffer"], dict(sndbuf_kb=200, delay_ms=30)),
    ("send-buffer", ["send-buffer"], dict(sndbuf_kb=400, delay_ms=40, jitter_ms=0.2)),
    ("sender-app", ["sender-app"], dict(write_kb=64, write_gap_ms=100, link_mbps=200)),
    ("sender-app", ["sender-app"], dict(write_kb=20, write_gap_ms=15, delay_ms=10)),
    ("sender-app", ["sender-app"], dict(write_kb=400, write_gap_ms=500, delay_ms=15)),
    ("receiver-app", ["receiver-app"], dict(read_kb=64, read_gap_ms=40, rcvbuf_kb=400)),
    ("receiver-app", ["receiver-app"], dict(read_kb=200, read_gap_ms=100, rcvbuf_kb=300)),
    ("receiver-app", ["receiver-app"], dict(read_kb=16, read_gap_ms=8, rcvbuf_kb=200, delay_ms=8)),
    ("random-loss", ["random-loss"], dict(loss_ratio=0.01, delay_ms=20, link_mbps=200)),
    ("random-loss", ["random-loss"], dict(loss_ratio=0.003, delay_ms=15, link_mbps=300)),
    ("random-loss", ["random-loss"], dict(loss_ratio=0.001, delay_ms=25, link_mbps=500, seconds=15)),
    ("random-loss", ["random-loss"], dict(loss_ratio=0.02, delay_ms=10, reno=1)),
    ("random-loss", ["random-loss"], dict(loss_ratio=0.005, delay_ms=40, jitter_ms=1)),
    ("random-loss", ["random-loss"], dict(loss_ratio=0.002, delay_ms=10, reno=1, link_mbps=500)),
    ("burst-loss", ["burst-loss"], dict(burst_ratio=0.001, burst_count=8, delay_ms=20)),
    ("burst-loss", ["burst-loss"], dict(burst_ratio=0.002, burst_count=5, delay_ms=15, link_mbps=300)),
    ("burst-loss", ["burst-loss"], dict(burst_ratio=0.0005, burst_count=20, delay_ms=20, seconds=15)),
    ("burst-loss", ["burst-loss"], dict(burst_ratio=0.001, burst_count=12, delay_ms=30, reno=1)),
    ("policer", ["policer"], dict(police_mbps=10, bucket_kb=100, delay_ms=15)),
    ("policer", ["policer"], dict(police_mbps=20, bucket_kb=60, delay_ms=20)),
    ("policer", ["policer"], dict(police_mbps=50, bucket_kb=500, delay_ms=10)),
    ("policer", ["policer"], dict(police_mbps=5, bucket_kb=30, delay_ms=25, seconds=15)),
    ("policer", ["policer"], dict(police_mbps=20, bucket_kb=1000, delay_ms=25, seconds=15)),
    ("policer", ["policer"], dict(police_mbps=30, bucket_kb=200, delay_ms=10, reno=1)),
    ("policer", ["policer"], dict(police_mbps=10, bucket_kb=50, delay_ms=40, jitter_ms=1)),
    ("shallow-buffer", ["shallow-buffer"], dict(link_mbps=20, queue_kb=10, delay_ms=10, reno=1, seconds=20)),
    ("shallow-buffer", NEARLY_FULL, dict(link_mbps=20, queue_kb=15, delay_ms=12, seconds=20)),
    ("shallow-buffer", ["shallow-buffer"], dict(link_mbps=50, queue_kb=15, delay_ms=6, reno=1, seconds=15)),
    ("shallow-buffer", NEARLY_FULL, dict(link_mbps=10, queue_kb=8, delay_ms=15, seconds=20)),
    ("shallow-buffer", NEARLY_FULL, dict(link_mbps=100, queue_kb=25, delay_ms=5, seconds=20, tso=4)),
    ("shallow-buffer", ["shallow-buffer"], dict(link_mbps=50, queue_kb=10, delay_ms=20, reno=1, seconds=30)),
    ("shallow-buffer", ["shallow-buffer"], dict(link_mbps=40, queue_kb=6, delay_ms=10, reno=1, seconds=15)),
    # Two losses in all: between them the window looks like a full send buffer.
    ("shallow-buffer", NEARLY_FULL, dict(link_mbps=50, queue_kb=10, delay_ms=40, seconds=15, seed=1)),
    ("shallow-buffer", NEARLY_FULL, dict(link_mbps=100, queue_kb=30, delay_ms=50, seconds=8, seed=1)),
    # A window of bursts, each behind its acknowledgement; one loss in all.
    ("shallow-buffer", NEARLY_FULL, dict(link_mbps=177, queue_kb=454, delay_ms=70, seconds=6, tso=20, seed=3)),
    ("shallow-buffer", NEARLY_FULL, dict(link_mbps=184, queue_kb=255, delay_ms=53, seconds=8, reno=1, seed=4)),
    ("aqm", ["capacity", "ecn-marks"], dict(link_mbps=30, queue_kb=2000, codel_ms=5, delay_ms=15)),
    ("aqm", ["capacity", "ecn-marks"], dict(link_mbps=50, queue_kb=2000, codel_ms=5, delay_ms=10)),
    ("aqm", ["capacity", "ecn-marks"],
     dict(link_mbps=30, queue_kb=2000, codel_ms=5, delay_ms=20, ecn=1, ecn_sender=1)),
    ("capacity", ["capacity"], dict(link_mbps=20, queue_kb=100, delay_ms=15)),
    ("capacity", ["capacity"], dict(link_mbps=50, queue_kb=300, delay_ms=20)),
    ("capacity", ["capacity"], dict(link_mbps=10, queue_kb=300, delay_ms=10)),
    ("capacity", ["capacity"], dict(link_mbps=100, queue_kb=500, delay_ms=15, reno=1)),
    ("bufferbloat", ["capacity"], dict(link_mbps=10, queue_kb=1500, delay_ms=10)),
    ("bufferbloat", ["capacity"], dict(link_mbps=20, queue_kb=4000, delay_ms=20, seconds=12)),
    ("bufferbloat", ["capacity"],  # what is acknowledged at once behind a gap arrived evenly
     dict(link_mbps=50, queue_kb=3200, delay_ms=10, reno=1, seconds=15)),
    # Nearly full, with a queue that hardly grows: no send buffer.
    ("capacity", ["capacity"], dict(link_mbps=38.5, queue_kb=3176, delay_ms=44.6, seconds=6, middle_share=0.83, seed=5)),
    ("reordering", ["reordering", "capacity"], dict(reorder_ratio=0.05, reorder_ms=10, link_mbps=100)),
    ("reordering", ["reordering"], dict(reorder_ratio=0.02, reorder_ms=25, delay_ms=20)),
    ("cross-traffic", ["cross-traffic", "capacity"], dict(link_mbps=50, queue_kb=200, others_ratio=0.5)),
    ("cross-traffic", ["cross-traffic", "capacity"], dict(link_mbps=100, queue_kb=300, others_ratio=0.7)),
    ("black-hole", ["mtu-black-hole"], dict(hole_bytes=1400, seconds=12)),
    ("black-hole", ["mtu-black-hole"], dict(hole_bytes=1300, delay_ms=40, seconds=15)),
    # Large buckets that fill slowly; a full link with a queue of four packets; others' queue.
    # Packets joined at the capturing host, acknowledged in parts; timers after losses seen from afar.
    ("send-buffer", ["send-buffer"],
     dict(seed=465258, link_mbps=63.017274, sndbuf_kb=40, delay_ms=7.821925, reno=1, seconds=20)),
    ("burst-loss", ["burst-loss"],
     dict(seed=39128, link_mbps=226.807305, burst_ratio=0.001146, burst_count=17,
          delay_ms=3.466367, middle_share=0.21, seconds=15)),
    ("policer", ["policer"],
     dict(link_mbps=1000, police_mbps=11.4, bucket_kb=351, delay_ms=58.5, reno=1, seconds=15,
          middle_share=0.61)),
    ("policer", ["policer"],
     dict(link_mbps=1000, police_mbps=50.7, bucket_kb=297, delay_ms=5.1, reno=1, seconds=15)),
    ("capacity", ["capacity", "shallow-buffer"],
     dict(seed=282503, link_mbps=10.871921, queue_kb=6, delay_ms=5.56403, gro=14, seconds=15)),
    ("cross-traffic", ["cross-traffic", "capacity"],
     dict(seed=547845, link_mbps=44.10092, queue_kb=50, others_ratio=0.38, delay_ms=7.334829,
          jitter_ms=1.321652, middle_share=0.52, seconds=20)),
    ("cross-traffic", ["cross-traffic", "capacity"],
     dict(seed=185105, link_mbps=27.060685, queue_kb=30, others_ratio=0.44, delay_ms=5.504443,
          tso=22, middle_share=0.77, seconds=8)),
    ("sender-app", ["sender-app"],  # each write has a short tail
     dict(seed=1008, write_kb=64, write_gap_ms=100, link_mbps=200)),
    ("random-loss", ["random-loss"],  # slow start overran the link's queue once
     dict(seed=997374, delay_ms=3.629353, seconds=6, reno=1, tso=1, gro=1, loss_ratio=0.006266,
          link_mbps=109.238297)),
    # Slow start ended without a loss, and CUBIC has hardly grown since: no send buffer.
    ("capacity", ["capacity"],
     dict(seed=685824, link_mbps=192.0959, queue_kb=2170, delay_ms=47.4418, jitter_ms=0.1193,
          middle_share=0.31, seconds=8)),
    # Short pauses of slow start behind a few timers: seen from afar no program's.
    ("burst-loss", ["burst-loss"],
     dict(seed=283156, link_mbps=471.5718, burst_ratio=0.0016, burst_count=11, queue_kb=775,
          delay_ms=6.5422, reno=1, middle_share=0.52)),
    # Two that packets do not tell, and were wrong: labels of their own, without a floor. Writes in step
    # with acknowledgements, as of a send buffer; one connection's saws before CoDel, as of a bucket.
    ("writes-in-step", ["sender-app"],
     dict(seed=309689, link_mbps=199.22469794, queue_kb=1000, write_kb=26, write_gap_ms=3.52555213,
          delay_ms=12.00672093, middle_share=0.34, seconds=20)),
    ("aqm-saws", ["capacity", "ecn-marks"],
     dict(seed=856196, link_mbps=15.028936, queue_kb=4000, codel_ms=5, delay_ms=25.076044, tso=1,
          gro=4, reno=1, middle_share=0.46, seconds=15)),
    # A full send buffer, and some losses that leave a window no smaller.
    ("send-buffer", ["send-buffer"],
     dict(seed=3, sndbuf_kb=87, delay_ms=15, link_mbps=300, loss_ratio=0.00005, seconds=40)),
    ("send-buffer", ["send-buffer"],
     dict(seed=4, sndbuf_kb=200, delay_ms=15, link_mbps=300, loss_ratio=0.00002, seconds=20)),
]

# What a capture may lack, laid over every third case in turn.
FLAWS = [
    dict(snap_bytes=68),
    dict(drop_ratio=0.002),
    dict(skip_seconds=2),
    dict(one_way=1),
    dict(tso=1, gro=1),
    dict(tso=44, gro=44),
    dict(one_way=2),
    dict(syn_lost_count=2),
]
