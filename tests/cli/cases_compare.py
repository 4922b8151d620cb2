"""run --compare: far ends beside one another, named or from the configuration."""
import os

from cases_http import Server, run
from harness import case, tightlink


@case("compare")
def a_list_of_the_configuration_is_compared_with(machine):
    folder = os.path.join(machine.folder, "lists", "tightlink")
    os.makedirs(folder)
    env = {"XDG_CONFIG_HOME": os.path.dirname(folder)}
    with Server() as server:
        url = f"http://127.0.0.1:{server.port}/quicker"
        with open(os.path.join(folder, "tightlink.conf"), "w") as conf:
            conf.write(f"[compare known]\nfar_ends = {url}\n")
        result = run(machine, server.port, "held", "--compare", "known", "--stages", "stream", env=env)
        table = result.out[result.out.index("Beside one another"):]
        assert url in table and "beside it: known" not in result.err, result
    with open(os.path.join(folder, "tightlink.conf"), "w") as conf:
        conf.write("[compare known]\nnear_ends = a\n")
    tightlink(machine, "run", "127.0.0.1", "--yes", "--compare", "known",
              env=env).check(2, "there is no such key")


@case("compare")
def what_is_slow_to_one_of_several_is_that_ones(machine):
    with Server() as server:
        url = f"http://127.0.0.1:{server.port}/quicker"
        result = run(machine, server.port, "held", "--compare", url, "--stages", "stream")
    assert "Beside one another" in result.out, result
    words = " ".join(result.out.split())
    assert "what limits it lies there or on the way to it" in words, result.out[-1500:]
