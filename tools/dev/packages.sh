# SPDX-License-Identifier: MIT
#
# Finds missing packages, and installs them after confirmation.

# missing_packages LIST...: names the packages of tools/dev/packages/LIST.txt that are not
# installed.
missing_packages() {
    local list package probe
    for list in "$@"; do
        while read -r package probe; do
            [[ -z $package || $package == \#* ]] && continue
            is_installed "$probe" || echo "$package"
        done <"$root/tools/dev/packages/$list.txt"
    done | sort -u
}

# is_installed PROBE: a file or a pattern of files when it starts with a slash, else a command.
is_installed() {
    if [[ $1 == /* ]]; then
        compgen -G "$1" >/dev/null
    else
        command -v "$1" >/dev/null
    fi
}

# ensure_packages LIST...: returns when all packages on the lists are installed, or ends the script.
ensure_packages() {
    local missing
    mapfile -t missing < <(missing_packages "$@")
    ((${#missing[@]} == 0)) && return
    say "Not installed yet: ${missing[*]}"
    command -v apt-get >/dev/null ||
        die "this is not Debian or a relative of it: please install what these packages bring."
    confirm "Install with apt-get?" || die "nothing installed."
    install_packages "${missing[@]}"
}

# confirm QUESTION: yes with --yes and in CI; prompts on a terminal; otherwise no.
confirm() {
    if [[ $assume_yes == 1 || ${CI:-} == true ]]; then
        return
    fi
    if [[ ! -t 0 ]]; then
        say "Standard input is not a terminal: add --yes to install."
        return 1
    fi
    local answer
    read -r -p "$1 [Y/n] " answer
    [[ -z $answer || $answer == [yY]* ]]
}

install_packages() {
    local as_root=()
    if ((EUID != 0)); then
        command -v sudo >/dev/null || die "become root, or install sudo, to install packages."
        as_root=(sudo)
    fi
    # Another apt-get may hold the lock for a while: wait for it.
    local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get
        -q -o DPkg::Lock::Timeout=600)
    "${apt[@]}" update || die "apt-get update failed."
    "${apt[@]}" install -y --no-install-recommends "$@" || die "apt-get install failed."
}

command_install_deps() {
    local lists=()
    case ${1:-test} in
        run) lists=(run) ;;
        test) lists=(run test) ;;
        ci) lists=(run test clang format docs package package-check) ;;
        soak) lists=(run test soak) ;;
        bench) lists=(run bench) ;;
        docs) lists=(docs) ;;
        package) lists=(run package) ;;
        newest) lists=(run test newest) ;;
        all) lists=(run test clang format tidy bench docs package package-check newest) ;;
        *)
            die "install-deps knows: run, test, ci, soak, bench, docs, package, newest, all;" \
                "not '$1'."
            ;;
    esac
    ensure_packages "${lists[@]}"
    say "Everything for '${1:-test}' is installed."
}
