// SPDX-License-Identifier: MIT
//
// The load generator of suite io, the same for every participant:
//
//   bench_io_load SERVER [ARGUMENT...] -- [--workload NAME|all] [--reps N] [--quick]
//
// starts the server with 'echo' or 'stream' as its last argument on processor 0, reads the port
// from the server's output, and loads it from processor 1. A repetition counts if neither of the
// two spent more than 5 % of the time in line for its processor: the wall clock says nothing here,
// for both wait for each other.
#include "echo_client.hpp"
#include "server_process.hpp"

#include <sys/mman.h>
#include <sys/sendfile.h>

namespace load {
namespace {

using bench::options;
using bench::reading;

std::vector<std::string> server_command;

// From its making until now: the smaller of the shares that the two sides got of what they wanted.
class observer {
public:
    explicit observer(const server_process& server) : server_(server) {}

    [[nodiscard]] double seconds() const {
        return (bench::clock_ns(CLOCK_MONOTONIC) - began_) * 1e-9;
    }
    [[nodiscard]] double server_cpu_ns() const { return server_.times().ran - server_then_.ran; }
    [[nodiscard]] double share() const {
        const double wall = bench::clock_ns(CLOCK_MONOTONIC) - began_;
        const double server = got("server", server_.times(), server_then_, wall);
        return std::min(server, got("load", times_of(getpid()), own_then_, wall));
    }

private:
    // Threads of one process wait for each other, too: no more can be lost than it did not run.
    static double got(const char* name, const cpu_times& now, const cpu_times& then, double wall) {
        const double ran = now.ran - then.ran;
        std::fprintf(stderr, "%s: busy for %.3f of the time\n", name, ran / wall);
        return 1 - std::max(0.0, std::min(now.waited - then.waited, wall - ran)) / wall;
    }

    const server_process& server_;
    cpu_times server_then_ = server_.times();
    cpu_times own_then_ = times_of(getpid());
    double began_ = bench::clock_ns(CLOCK_MONOTONIC);
};

struct echo_run {
    double messages;
    double seconds;
    double server_cpu_ns;
    double share;
};

echo_run run_echo(const options& o, unsigned connections) {
    const server_process server(server_command, "echo");
    pin_to(1);
    echo_client client(server.port(), connections);
    client.run_for(o.quick ? 0.03e9 : 0.1e9);
    const observer watch(server);
    const std::uint64_t messages = client.run_for(o.quick ? 0.15e9 : 0.5e9);
    const double seconds = watch.seconds();
    return {static_cast<double>(messages), seconds, watch.server_cpu_ns(), watch.share()};
}

// Messages that made their way there and back, a second.
reading echo(const options& o, unsigned connections) {
    const echo_run run = run_echo(o, connections);
    return {run.messages / run.seconds, run.share};
}

// The server's CPU time per message, which says more where a server is so fast that the generator
// and the kernel on its side are as busy as the server is.
reading echo_cpu(const options& o) {
    const echo_run run = run_echo(o, 100);
    return {run.server_cpu_ns / run.messages, run.share};
}

// One connection, chunks of 64 KiB, read and counted by the server, which tells its count when the
// stream ends. Sent from the page cache, so that the generator copies nothing and the server is the
// slower side. MB (10^6 bytes) a second.
reading stream(const options& o) {
    constexpr std::size_t chunk = 64 * 1024;
    const server_process server(server_command, "stream");
    pin_to(1);
    const int file = memfd_create("stream", MFD_CLOEXEC);
    const std::string contents(chunk, 'w');
    bench::require(write(file, contents.data(), chunk) == static_cast<ssize_t>(chunk), "memfd");
    const int client = connect_to(server.port());
    const std::uint64_t chunks = o.quick ? 10'000 : 40'000;
    const observer watch(server);
    for (std::uint64_t i = 0; i < chunks; ++i) {
        off_t from = 0;
        while (from < static_cast<off_t>(chunk)) {
            const ssize_t sent =
                sendfile(client, file, &from, chunk - static_cast<std::size_t>(from));
            bench::require(sent > 0, "sendfile");
        }
    }
    shutdown(client, SHUT_WR);
    char answer[32] = {};
    std::size_t size = 0;
    for (ssize_t count = 1; count > 0 && size + 1 < sizeof answer;
         size += static_cast<std::size_t>(count))
        count = recv(client, answer + size, sizeof answer - 1 - size, 0);
    const double seconds = watch.seconds();
    bench::require(std::strtoull(answer, nullptr, 10) == chunks * chunk, "lost bytes of a stream");
    close(client);
    close(file);
    return {static_cast<double>(chunks * chunk) / 1e6 / seconds, watch.share()};
}

// What the server's own memory grows by per connection that has been used once and now idles.
reading idle_memory(const options&) {
    constexpr unsigned connections = 9'000;
    const server_process server(server_command, "echo");
    pin_to(1);
    echo_client first(server.port(), 1);
    first.run_until(10);
    const double before = server.private_bytes();
    std::vector<int> idle;
    for (unsigned i = 0; i < connections; ++i) {
        const int client = connect_to(server.port());
        char message[echo_client::message_size] = {'w'};
        bench::require(send(client, message, sizeof message, MSG_NOSIGNAL) == sizeof message &&
                           recv(client, message, sizeof message, MSG_WAITALL) == sizeof message,
                       "no echo");
        idle.push_back(client);
    }
    const double growth = server.private_bytes() - before;
    for (const int client : idle)
        close(client);
    return {growth / connections, 1};
}

}  // namespace
}  // namespace load

int main(int argc, char** argv) {
    using bench::kind;
    using bench::options;
    std::vector<char*> rest{argv[0]};
    int i = 1;
    for (; i < argc && std::string_view(argv[i]) != "--"; ++i)
        load::server_command.emplace_back(argv[i]);
    for (++i; i < argc; ++i)
        rest.push_back(argv[i]);
    if (load::server_command.empty()) {
        std::fprintf(stderr, "usage: %s SERVER [ARGUMENT...] -- [OPTION...]\n", argv[0]);
        return 64;
    }
    const auto rate = bench::better::higher;
    const std::vector<bench::workload> workloads{
        {"echo_1", [](const options& o) { return load::echo(o, 1); }, "msg/s", kind::busy, 99,
         rate},
        {"echo_100", [](const options& o) { return load::echo(o, 100); }, "msg/s", kind::busy, 99,
         rate},
        {"echo_100_cpu", load::echo_cpu, "ns"},
        {"stream", load::stream, "MB/s", kind::busy, 99, rate},
        {"idle_memory", load::idle_memory, "bytes", kind::sleepy, 1},
    };
    return bench::main(static_cast<int>(rest.size()), rest.data(), workloads, 10);
}
