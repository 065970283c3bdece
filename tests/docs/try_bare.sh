#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Runs the commands of README.md and of the first pages on a minimal Debian in a folder, those that
# change the machine too: a package that the lists in tools/dev/packages lack is seen here. Each
# command's line has the seconds that it took. Then looks whether a second command built again what
# the first had built.
#
#   try_bare.sh SOURCE_DIR [OPTION of run_commands.py...]
set -euo pipefail
# shellcheck source=/dev/null
source "$(dirname "${BASH_SOURCE[0]}")/../support/machine.sh"

source_dir=$1
shift
make_machine ca-certificates,git,python3-minimal,libpython3-stdlib
git -c safe.directory='*' clone --quiet --no-hardlinks "$source_dir" "$machine/src"
on_machine <<SCRIPT
python3 /src/tests/docs/run_commands.py /src --machine --folder /reader $*
SCRIPT

# A line of ninja's log: begin, end, time, what was made, hash of its command.
twice=$(awk -F '\t' 'NR > 1 && $4 ~ /^CMakeFiles\/weir_[a-z]+\.dir\/.*\.o$/ { print $4 }' \
    "$machine/reader/weir/build/gcc-release/.ninja_log" | sort | uniq -d)
[[ -z $twice ]] || {
    echo "built more than once:"
    echo "$twice"
    exit 1
}
echo "nothing of the library was built twice"
