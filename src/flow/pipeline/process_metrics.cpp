// SPDX-License-Identifier: MIT
// The files are those of /proc. The start of the process is the boot time plus a number of clock
// ticks, and does not change, so it is read once.

#include <weir/flow/process_metrics.hpp>

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

namespace weir {

namespace {

// The fields of /proc/self/stat behind the name of the program, which is in parentheses and may
// contain anything. The first one is field 3.
std::optional<std::string> process_stat_fields() {
    std::ifstream file("/proc/self/stat");
    std::string text;
    std::getline(file, text);
    const std::size_t end = text.rfind(')');
    return end != std::string::npos ? std::optional(text.substr(end + 1)) : std::nullopt;
}

std::optional<double> boot_time() {
    std::ifstream file("/proc/stat");
    for (std::string word; file >> word;) {
        double seconds = 0;
        if (word == "btime" && file >> seconds) {
            return seconds;
        }
    }
    return std::nullopt;
}

std::optional<double> process_start_time() {
    constexpr int start_field = 22;
    const std::optional<double> boot = boot_time();
    const std::optional<std::string> fields = process_stat_fields();
    if (!boot || !fields) {
        return std::nullopt;
    }
    std::istringstream words(*fields);
    std::string word;
    for (int field = 3; field < start_field; ++field) {
        words >> word;
    }
    double ticks = 0;
    if (!(words >> ticks)) {
        return std::nullopt;
    }
    return *boot + ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double seconds_of(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

std::optional<double> count_descriptors() {
    DIR* const folder = ::opendir("/proc/self/fd");
    if (folder == nullptr) {
        return std::nullopt;
    }
    double count = -1;  // without that of the folder
    while (const dirent* const each = ::readdir(folder)) {
        count += each->d_name[0] != '.' ? 1 : 0;
    }
    ::closedir(folder);
    return count;
}

}  // namespace

process_metrics::process_metrics() : started_at_(process_start_time()) {}

void process_metrics::write_metrics(metric_writer& to) const {
    rusage used{};
    if (::getrusage(RUSAGE_SELF, &used) == 0) {
        to.counter("process_cpu_seconds_total", "User and system CPU time in seconds.", {},
                   seconds_of(used.ru_utime) + seconds_of(used.ru_stime));
    }
    std::ifstream memory("/proc/self/statm");
    double total_pages = 0;
    double resident_pages = 0;
    if (memory >> total_pages >> resident_pages) {
        const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
        to.gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.", {},
                 total_pages * page);
        to.gauge("process_resident_memory_bytes", "Resident memory size in bytes.", {},
                 resident_pages * page);
    }
    if (const std::optional<double> open = count_descriptors()) {
        to.gauge("process_open_fds", "Number of open file descriptors.", {}, *open);
    }
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        to.gauge("process_max_fds", "Maximum number of open file descriptors.", {},
                 limit.rlim_cur == RLIM_INFINITY ? std::numeric_limits<double>::infinity()
                                                 : static_cast<double>(limit.rlim_cur));
    }
    if (started_at_) {
        to.gauge("process_start_time_seconds",
                 "Start time of the process since the Unix epoch in seconds.", {}, *started_at_);
    }
}

}  // namespace weir
