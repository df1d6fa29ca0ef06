#!/bin/sh
# The engine on the GPU of a bare machine: its tests, then the figures of `make bench-gpu`; eight minutes at most.
# It needs a driver for CUDA, a C compiler, and Python 3.11 or 3.12. It asks nothing of the internet: what that Python
# lacks of cirq-core, hypothesis, nvidia-cuda-nvrtc-cu12, pytest and what these need comes as wheels.
# usage, in the root of the repository: [PYTHON=python3.12] sh tests/gpu/alone.sh [FOLDER-OF-WHEELS]
set -eu
python=${PYTHON:-python3}
site=$(mktemp -d)
trap 'rm -rf "$site"' EXIT
if [ $# -gt 0 ]; then
  "$python" -m pip install -q --no-index --no-deps --no-compile --target "$site" "$1"/*.whl
fi
export PYTHONPATH="$site:$PWD:$PWD/operator:$PWD/trainer"
"$python" -m qtj_simulator.fused.build >/dev/null
failed=0
timeout 200 "$python" -m pytest -q -x -c /dev/null --rootdir . -p no:cacheprovider tests/gpu/engine_on_gpus.py || failed=$?
timeout 270 "$python" -m bench.gpu || failed=$?
exit $failed
