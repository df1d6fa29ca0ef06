"""Asks a sampler of Optuna for points: a process of its own, which nothing else imports.

It gets a request of `core/study/suggestion.py` as JSON, and answers with `{"points": [...]}`, or with
`{"refused": "..."}`, one sentence. Each point has a sampler and a study of its own, which is built from the request;
points of CMA-ES that are asked for together share one.
"""

import json
import resource
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Literal

_NEEDED = {"TPE": ("optuna",), "GP": ("optuna", "scipy", "torch"), "CMA-ES": ("optuna", "cmaes")}
_MEMORY = {
    "TPE": (resource.RLIMIT_DATA, 128 << 20),
    "CMA-ES": (resource.RLIMIT_DATA, 384 << 20),
    "GP": (resource.RLIMIT_AS, 4 << 30),
}
"""Bytes that it may take. TPE takes 60 MB, and more for thousands of values and trials; CMA-ES takes 110 MB where SciPy
is installed. It shares the memory of the operator's container, and if that is too little, both are killed."""


def main() -> None:
    """Answers one request."""
    request = json.load(sys.stdin)
    kind, most = _MEMORY[request["algorithm"]]
    resource.setrlimit(kind, (most, most))
    json.dump(answered(request), sys.stdout)


def answered(request: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the answer to a request."""
    algorithm = request["algorithm"]
    missing = [name for name in _NEEDED[algorithm] if find_spec(name) is None]
    if missing:
        return {
            "refused": f"search.algorithm {algorithm} needs {' and '.join(missing)}, not installed where trials are "
            "chosen: install it there, or search with Random"
        }
    if algorithm == "CMA-ES":  # it learns by being asked again for all that is known, which takes seconds
        study = _study(request, request["known"], request["seeds"][0])
        return {"points": [_next(study, request) for _ in request["seeds"]]}
    known, points = list(request["known"]), []
    for seed in request["seeds"]:
        values = _next(_study(request, known, seed), request)
        points.append(values)
        known.append({"values": values, "state": "RUNNING", "objective": None})
    return {"points": points}


def _next(study: Any, request: Mapping[str, Any]) -> dict[str, Any]:
    return dict(study.ask(_spaces(request)).params)


def _spaces(request: Mapping[str, Any]) -> dict[str, Any]:
    from optuna import distributions  # may be missing

    return {each["name"]: _space(distributions, each) for each in request["parameters"]}


def _study(request: Mapping[str, Any], known: list[dict[str, Any]], seed: int) -> Any:
    import optuna  # may be missing

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = _sampler(optuna.samplers, request["algorithm"], seed)
    goal: Literal["minimize", "maximize"] = "minimize" if request["isBetterWhenSmall"] else "maximize"
    study = optuna.create_study(sampler=sampler, direction=goal)
    spaces = _spaces(request)
    for each in known:
        state = optuna.trial.TrialState[each["state"]]
        value = each["objective"] if each["state"] == "COMPLETE" else None
        if request["algorithm"] == "CMA-ES":
            _repeat(study, spaces, each["values"], state, value)
        else:
            study.add_trial(
                optuna.trial.create_trial(params=each["values"], distributions=spaces, state=state, value=value)
            )
    return study


def _sampler(samplers: Any, algorithm: str, seed: int) -> Any:
    if algorithm == "TPE":
        return samplers.TPESampler(seed=seed, constant_liar=True)
    if algorithm == "GP":
        return samplers.GPSampler(seed=seed)
    return samplers.CmaEsSampler(seed=seed, warn_independent_sampling=False)


def _repeat(study: Any, spaces: Mapping[str, Any], values: Mapping[str, Any], state: Any, value: float | None) -> None:
    """Asks for a known point again, and tells its result: CMA-ES learns a generation at a time, when it is asked."""
    study.enqueue_trial(values)
    trial = study.ask(spaces)
    _ = trial.relative_params  # asks the sampler, which a point with known values does not need
    if state.is_finished():
        study.tell(trial, value, state)


def _space(distributions: Any, parameter: Mapping[str, Any]) -> Any:
    if "choices" in parameter:
        return distributions.CategoricalDistribution(range(parameter["choices"]))
    low, high, is_log = parameter["min"], parameter["max"], parameter["isLog"]
    if parameter["isInteger"]:
        return distributions.IntDistribution(int(low), int(high), log=is_log)
    return distributions.FloatDistribution(low, high, log=is_log)


if __name__ == "__main__":
    main()
