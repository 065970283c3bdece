// SPDX-License-Identifier: MIT
//
// The server under test as a child process: started on a processor of its own, queried for its
// port, looked at through /proc, and killed in the end.
#pragma once

#include "../harness.hpp"

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

#include <string>

namespace load {

// Leaves the process where it is on machines with one processor.
inline void pin_to(unsigned processor) {
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    sched_setaffinity(0, sizeof set, &set);
}

// Time on a processor and time spent waiting for one, over all threads, in ns.
struct cpu_times {
    double ran = 0;
    double waited = 0;
};

inline cpu_times times_of(pid_t process) {
    cpu_times sum;
    const std::string folder = "/proc/" + std::to_string(process) + "/task";
    DIR* threads = opendir(folder.c_str());
    if (threads == nullptr) return sum;
    while (const dirent* thread = readdir(threads)) {
        if (thread->d_name[0] == '.') continue;
        const std::string path = folder + "/" + thread->d_name + "/schedstat";
        std::FILE* file = std::fopen(path.c_str(), "r");
        double ran = 0;
        double waited = 0;
        if (file == nullptr) continue;
        if (std::fscanf(file, "%lf %lf", &ran, &waited) == 2) {
            sum.ran += ran;
            sum.waited += waited;
        }
        std::fclose(file);
    }
    closedir(threads);
    return sum;
}

class server_process {
public:
    server_process(const std::vector<std::string>& command, const char* kind) {
        int output[2];
        bench::require(pipe(output) == 0, "pipe");
        process_ = fork();
        bench::require(process_ >= 0, "fork");
        if (process_ == 0) run(command, kind, output[1]);
        close(output[1]);
        std::FILE* lines = fdopen(output[0], "r");
        unsigned port = 0;
        const bool has_port = std::fscanf(lines, "%u", &port) == 1;
        std::fclose(lines);
        if (!has_port) throw std::runtime_error("the server did not say its port");
        port_ = static_cast<std::uint16_t>(port);
    }
    server_process(const server_process&) = delete;
    server_process& operator=(const server_process&) = delete;
    ~server_process() {
        kill(process_, SIGKILL);
        waitpid(process_, nullptr, 0);
    }

    [[nodiscard]] std::uint16_t port() const { return port_; }
    [[nodiscard]] cpu_times times() const { return times_of(process_); }

    // What is resident of the process's own memory: not what it shares with others, and nothing of
    // the kernel's.
    [[nodiscard]] double private_bytes() const {
        const std::string path = "/proc/" + std::to_string(process_) + "/smaps_rollup";
        std::FILE* file = std::fopen(path.c_str(), "r");
        bench::require(file != nullptr, "no /proc/PID/smaps_rollup");
        double sum = 0;
        char line[256];
        while (std::fgets(line, sizeof line, file) != nullptr) {
            unsigned long kilobytes = 0;
            if (std::sscanf(line, "Private_Dirty: %lu", &kilobytes) == 1 ||
                std::sscanf(line, "Private_Clean: %lu", &kilobytes) == 1)
                sum += static_cast<double>(kilobytes) * 1024;
        }
        std::fclose(file);
        return sum;
    }

private:
    [[noreturn]] static void run(const std::vector<std::string>& command, const char* kind,
                                 int output) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pin_to(0);
        dup2(output, STDOUT_FILENO);
        std::vector<char*> arguments;
        for (const std::string& part : command)
            arguments.push_back(const_cast<char*>(part.c_str()));
        arguments.push_back(const_cast<char*>(kind));
        arguments.push_back(nullptr);
        execv(arguments[0], arguments.data());
        std::perror(arguments[0]);
        std::_Exit(127);
    }

    pid_t process_ = -1;
    std::uint16_t port_ = 0;
};

}  // namespace load
