// SPDX-License-Identifier: MIT
// A command is fed, its output collected, and its end awaited, all at the same time.

#include "io/process/child_process.hpp"

#include <weir/error.hpp>
#include <weir/finally.hpp>
#include <weir/gather.hpp>
#include <weir/io/error.hpp>
#include <weir/io/process.hpp>
#include <weir/io/read.hpp>

#include <algorithm>
#include <array>

namespace weir {

namespace detail {

// A start that does not block the loop until the program is loaded.
struct command_start {
    static process begin(const std::vector<std::string>& words, const process_options& options) {
        process begun;
        begun.begin(words, options);
        return begun;
    }
    static task<void> loaded(process& begun) { return begun.child_->loaded(); }
};

}  // namespace detail

namespace {

// A child that does not read all its input is no error.
task<void> feed(io::pipe_writer& into, const std::string& input) {
    try {
        co_await into.write(input);
    } catch (const io_error& error) {
        if (error.code() != std::errc::broken_pipe) {
            throw;
        }
    }
    into.close();
}

task<void> collect(io::pipe_reader& from, std::string& into, std::size_t limit,
                   std::string program) {
    try {
        into = co_await io::read_all(from, limit);
    } catch (const limit_exceeded&) {
        throw limit_exceeded("run_command: " + program + " has printed more than " +
                             std::to_string(limit) + " bytes");
    }
}

enum class kept_part : unsigned char { first, last };

// Reads to the end, and keeps `limit` bytes.
task<void> collect_part(io::pipe_reader& from, std::string& into, bool& is_cut, std::size_t limit,
                        kept_part part) {
    std::array<char, 4096> piece;
    for (;;) {
        const std::size_t count = co_await from.read(piece);
        if (count == 0) {
            break;
        }
        const std::size_t room = limit - std::min(limit, into.size());
        is_cut = is_cut || count > room;
        into.append(piece.data(), part == kept_part::last ? count : std::min(count, room));
        if (part == kept_part::last && into.size() / 2 > limit + piece.size()) {
            into.erase(0, into.size() - limit);
        }
    }
    if (into.size() > limit) {
        into.erase(0, into.size() - limit);
    }
}

// A command that runs: its child, and what was asked for.
struct running_command {
    process child;
    std::string program;
    std::string input;
    std::size_t limit = 0;
    bool cuts_output = false;
    bool has_err = false;
};

task<command_result> run_owned(running_command command) {
    command_result result;
    auto talk = [&]() -> task<> {
        co_await detail::command_start::loaded(command.child);
        std::vector<task<>> parts;
        if (!command.input.empty()) {
            parts.push_back(feed(command.child.in(), command.input));
        }
        if (command.cuts_output) {
            parts.push_back(collect_part(command.child.out(), result.out, result.out_is_cut,
                                         command.limit, kept_part::first));
        } else {
            parts.push_back(
                collect(command.child.out(), result.out, command.limit, command.program));
        }
        if (command.has_err && command.cuts_output) {
            parts.push_back(collect_part(command.child.err(), result.err, result.err_is_cut,
                                         command.limit, kept_part::last));
        } else if (command.has_err) {
            parts.push_back(
                collect(command.child.err(), result.err, command.limit, command.program));
        }
        co_await gather(std::move(parts));
        result.status = co_await command.child.wait();
    };
    auto end_it = [&](ending how) -> task<> {
        if (how != ending::value) {
            co_await command.child.terminate();
        }
    };
    co_await finally(talk(), end_it);
    co_return result;
}

// The child starts when the task is awaited.
task<command_result> run_later(std::vector<std::string> words, std::string input,
                               std::string directory, std::vector<std::string> environment,
                               command_options run_options) {
    running_command command;
    {
        process_options options;
        options.in = input.empty() ? stdio::null : stdio::pipe;
        options.out = stdio::pipe;
        options.err = run_options.err;
        options.directory = directory;
        options.environment = environment;
        options.inherit_environment = run_options.inherit_environment;
        options.own_group = run_options.own_group;
        options.contained = run_options.contained;
        options.grace = run_options.grace;
        command.child = detail::command_start::begin(words, options);
    }
    command.program = words.front();
    command.input = std::move(input);
    command.limit = run_options.output_limit;
    command.cuts_output = run_options.cut_output;
    command.has_err = run_options.err.what == child_stream::kind::pipe;
    co_return co_await run_owned(std::move(command));
}

}  // namespace

task<command_result> run_command(const command_line& command, const command_options& options) {
    return run_later(
        command.words(), std::string(options.input), std::string(options.directory),
        std::vector<std::string>(options.environment.begin(), options.environment.end()), options);
}

}  // namespace weir
