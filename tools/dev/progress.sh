# SPDX-License-Identifier: MIT
#
# How far a command is: lines on standard error, or on a terminal one line that is written anew.

# step NUMBER COUNT TEXT: announces a step of a command.
step() {
    say "${bold}[$1/$2]${plain} $3"
}

# duration SECONDS: '40 s', '3 min'.
duration() {
    if (($1 < 100)); then
        echo "$1 s"
    else
        echo "$((($1 + 30) / 60)) min"
    fi
}

on_terminal() {
    [[ -t 2 && ${TERM:-dumb} != dumb ]]
}

# show_line TEXT: instead of the line shown before, cut to the terminal.
show_line() {
    local columns=${COLUMNS:-80}
    printf '\r\e[K%s' "${1:0:columns - 1}" >&2
}

clear_line() {
    on_terminal && printf '\r\e[K' >&2 || true
}

# show_build LOG: reads the output of ninja, of which each step is '[DONE/COUNT SECONDS] TEXT', and
# writes it to the log as well. On a terminal the steps are one line, with the time that is left.
show_build() {
    local line log=$1
    : >"$log"
    while IFS= read -r line; do
        printf '%s\n' "$line" >>"$log"
        if [[ $line =~ ^\[([0-9]+)/([0-9]+)\ ([0-9]+)[.0-9]*\]\ (.*)$ ]]; then
            show_build_step "${BASH_REMATCH[@]:1}"
        else
            clear_line
            printf '%s\n' "$line" >&2
        fi
    done
    clear_line
}

# show_build_step DONE COUNT SECONDS TEXT
show_build_step() {
    local finished=$1 count=$2 seconds=$3 text=$4 left=''
    if ! on_terminal; then
        say "[$finished/$count] $text"
        return
    fi
    # The first steps say little about the others.
    if ((seconds >= 5 && finished >= 3 && finished < count)); then
        left=", about $(duration $((seconds * (count - finished) / finished))) left"
    fi
    show_line "  $((100 * finished / count)) % ($finished of $count)$left: $text"
}

# show_install LOG: reads the output of apt-get and writes it to the log. On a terminal it shows how
# many packages are set up.
show_install() {
    local line log=$1 count=0 finished=0
    while IFS= read -r line; do
        printf '%s\n' "$line" >>"$log"
        case $line in
            *' newly installed, '*)
                [[ $line =~ ([0-9]+)\ newly ]] && count=${BASH_REMATCH[1]}
                ;;
            'Need to get '*) say "  $count packages. ${line%%.}." ;;
            'Setting up '*) finished=$((finished + 1)) ;;
        esac
        on_terminal && show_line "  $finished of $count: $line"
    done
    clear_line
}
