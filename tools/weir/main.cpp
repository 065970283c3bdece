// SPDX-License-Identifier: MIT
// weir: the task service and what goes with it.
//
// Exit codes: 0 well; 1 it failed; 2 it was called wrongly; 3 (submit --wait, status) the task did not complete.

#include "commands.hpp"
#include <CLI/CLI.hpp>

#include <weir/error.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr int called_wrongly = 2;

// `weir serve --config FILE` is `weir --config FILE serve`: the file is for all commands. In reverse order, as CLI11
// takes them.
std::vector<std::string> arguments_of(int count, char** words) {
    std::vector<std::string> first;
    std::vector<std::string> rest;
    bool is_literal = false;
    for (int i = 1; i < count; ++i) {
        const std::string_view word = words[i];
        is_literal = is_literal || word == "--";
        const bool is_config = !is_literal && (word == "-c" || word == "--config");
        if (is_config && i + 1 < count) {
            first.insert(first.end(), {words[i], words[i + 1]});
            ++i;
        } else {
            (!is_literal && word.starts_with("--config=") ? first : rest).emplace_back(word);
        }
    }
    first.insert(first.end(), rest.begin(), rest.end());
    std::reverse(first.begin(), first.end());
    return first;
}

int run(int count, char** words) {
    using namespace weir::program;
    CLI::App app("Weir: background tasks that are run to their end", "weir");
    app.set_version_flag("--version", WEIR_VERSION);
    app.require_subcommand(1);
    app.set_config("-c,--config", "",
                   "Configuration file: 'option = value', in sections such as [serve]")
        ->envname("WEIR_CONFIG");
    app.allow_config_extras(CLI::config_extras_mode::error);
    app.footer("Start with `weir serve`; it says where it listens and how to give it a task.");

    serve_settings serving;
    CLI::App* const serve = app.add_subcommand("serve", "Run the task service");
    add_options(*serve, serving);

    submit_settings submitting;
    CLI::App* const submit = app.add_subcommand("submit", "Give the service a task");
    add_options(*submit, submitting);

    status_settings asking;
    CLI::App* const status = app.add_subcommand("status", "Show queues, or one task");
    add_options(*status, asking);

    watch_settings watching;
    CLI::App* const watch = app.add_subcommand("watch", "Show what happens, as it happens");
    add_options(*watch, watching);

    int pid = 0;
    CLI::App* const ps = app.add_subcommand("ps", "Show the tasks of a running Weir program");
    ps->add_option("pid", pid, "Its process number")->required()->check(CLI::PositiveNumber);

    try {
        app.parse(arguments_of(count, words));
    } catch (const CLI::ConfigError& error) {
        std::fprintf(stderr, "weir: the configuration file has what is not known: %s\n",
                     error.what());
        return called_wrongly;
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : called_wrongly;
    }
    try {
        return serve->parsed()    ? run_serve(serving)
               : submit->parsed() ? run_submit(submitting)
               : status->parsed() ? run_status(asking)
               : watch->parsed()  ? run_watch(watching)
                                  : run_ps(pid);
    } catch (const weir::invalid_argument& error) {
        std::fprintf(stderr, "weir: %s\n", error.what());
        return called_wrongly;
    }
}

}  // namespace

int main(int count, char** words) {
    try {
        return run(count, words);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "weir: %s\n", error.what());
        return 1;
    }
}
