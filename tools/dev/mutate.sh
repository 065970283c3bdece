# SPDX-License-Identifier: MIT
#
# The command mutate: faults put into the sources, to find those that no test sees.

# What it takes on the disk: the test programs, linked once more.
mutate_megabytes=1000

# command_mutate [FOLDER...] [--count N] [--seed S] [--at-least PERCENT] [--list]: the build of
# `./dev test` is brought up to date, and tools/dev/mutate does the rest.
command_mutate() {
    ensure_packages run test
    check_build gcc-release $((tests_megabytes + mutate_megabytes))
    configure gcc-release && build gcc-release || die "the build failed."
    mutate "$@"
}

mutate() {
    python3 "$root/tools/dev/mutate" --build "$(build_dir gcc-release)" --jobs "$(jobs_to_use)" "$@"
}
