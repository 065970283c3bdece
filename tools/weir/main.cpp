// SPDX-License-Identifier: MIT
// weir: the task service and what goes with it. Exit codes are in commands.hpp, and at the end of
// --help.

#include "commands.hpp"
#include "config_file.hpp"
#include "options.hpp"
#include "text.hpp"
#include <CLI/CLI.hpp>

#include <weir/error.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace weir::program {

namespace {

constexpr int called_wrongly = 2;
constexpr const char* exit_codes =
    "Exit codes: 0 well; 1 it failed; 2 it was called wrongly; 3 the task did not complete;\n"
    "70 something did not stop in time.";

// One of the program's commands.
struct command {
    command(CLI::App& app, const char* name, const char* means, bool has_variables)
        : parser(*app.add_subcommand(name, means)), known(parser, has_variables) {}
    CLI::App& parser;
    options known;
};

class program {
public:
    program();
    int run(int count, char** words);

private:
    int refuse(const std::string& words, const CLI::App& about) const;
    int refuse(const CLI::ParseError& error) const;
    command& chosen();
    void read_settings();

    CLI::App app_{"Weir: background tasks that are run to their end", "weir"};
    std::string config_;
    serve_settings serving_;
    submit_settings submitting_;
    status_settings asking_;
    watch_settings watching_;
    int pid_ = 0;
    command serve_{app_, "serve", "Run the task service", true};
    command submit_{app_, "submit", "Give the service a task", false};
    command status_{app_, "status", "Show queues, or one task", false};
    command watch_{app_, "watch", "Show what happens, as it happens", false};
    command ps_{app_, "ps", "Show the tasks inside a running Weir program", false};
    command* const all_[5] = {&serve_, &submit_, &status_, &watch_, &ps_};
};

program::program() {
    app_.set_version_flag("--version", "weir " WEIR_VERSION);
    app_.require_subcommand(1);
    app_.get_formatter()->column_width(38);
    app_.footer(std::string("Start with `weir serve`; it says where it listens and how to give it a"
                            " task.\n`weir COMMAND --help` has the options of a command.\n\n") +
                exit_codes);
    add_options(serve_.known, serving_);
    add_options(submit_.known, submitting_);
    add_options(status_.known, asking_);
    add_options(watch_.known, watching_);
    ps_.known.number({"pid", "PID", "Its process number", "", false, true}, pid_, 1, 1 << 30);

    // Before the command or after it.
    const char* const means =
        "Configuration file: option = value, in sections such as '[serve]' [WEIR_CONFIG]";
    app_.add_option("-c,--config", config_, means)->type_name("FILE");
    for (command* const each : all_) {
        each->parser.footer(exit_codes);
        if (each != &ps_) {
            each->parser.add_option("-c,--config", config_, means)->type_name("FILE");
        }
    }
    serve_.parser.footer(
        "Flags count before variables, these before the file. Several values: the flag several "
        "times,"
        " a;b\nin the variable, [\"a\", \"b\"] in the file. ^C or SIGTERM: running tasks may end"
        " (--drain);\nonce more: it ends at once, and they are run again.\n\n" +
        std::string(exit_codes));
}

int program::refuse(const std::string& words, const CLI::App& about) const {
    const std::string name = &about == &app_ ? "weir" : "weir " + about.get_name();
    std::fprintf(stderr, "weir: %s\nMore: %s --help\n", words.c_str(), name.c_str());
    return called_wrongly;
}

int program::refuse(const CLI::ParseError& error) const {
    const CLI::App* about = &app_;
    for (const CLI::App* const each : app_.get_subcommands()) {
        about = each;
    }
    const std::vector<std::string> extra = app_.remaining(true);
    if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && about == &app_) {
        std::vector<std::string> names;
        for (const command* const each : all_) {
            names.push_back(each->parser.get_name());
        }
        if (extra.empty()) {
            std::fputs(app_.help().c_str(), stderr);
            return called_wrongly;
        }
        return refuse(unknown("command", extra.front(), names), app_);
    }
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !extra.empty()) {
        std::vector<std::string> names;
        for (const CLI::Option* const each : about->get_options()) {
            for (const std::string& name : each->get_lnames()) {
                names.push_back("--" + name);
            }
        }
        const auto dashed = std::find_if(extra.begin(), extra.end(), [](const std::string& each) {
            return each.starts_with("-");
        });
        const std::string word = shown(dashed != extra.end() ? *dashed : extra.front(), 100);
        const std::string_view meant = nearest(word.substr(0, word.find('=')), names);
        return refuse(dashed == extra.end() ? "'" + word + "' is too much"
                      : meant.empty()       ? "there is no option '" + word + "'"
                                            : "there is no option '" + word + "'; did you mean '" +
                                            std::string(meant) + "'?",
                      *about);
    }
    return refuse(shown(error.what()), *about);
}

command& program::chosen() {
    return **std::find_if(std::begin(all_), std::end(all_),
                          [](const command* each) { return each->parser.parsed(); });
}

void program::read_settings() {
    if (const char* const named = std::getenv("WEIR_CONFIG"); config_.empty() && named != nullptr) {
        config_ = named;
    }
    std::vector<config_entry> file;
    if (!config_.empty()) {
        file = read_config(config_);
    }
    std::vector<std::string> sections;
    for (const command* const each : all_) {
        sections.push_back(each->known.section());
        each->known.check_names(file);
    }
    for (const config_entry& each : file) {
        if (each.section.empty()) {
            throw invalid_argument(each.place + ": '" + each.key +
                                   "' stands before any section; write [serve] above it");
        }
        if (std::find(sections.begin(), sections.end(), each.section) == sections.end()) {
            throw invalid_argument(each.place + ": " + unknown("section", each.section, sections));
        }
    }
    options& known = chosen().known;
    known.take(file);
    const source tokens_from = known.source_of("token-file");
    serving_.tokens_from = tokens_from;
    serving_.keys_from = known.source_of("webhook-key-file");
    serving_.found = known.all_found();
    for (remote_settings* const each : {&submitting_.to, &asking_.to, &watching_.to}) {
        each->tokens_from = tokens_from;
    }
}

int program::run(int count, char** words) {
    try {
        app_.parse(count, words);
    } catch (const CLI::Success& asked) {
        return app_.exit(asked);
    } catch (const CLI::ParseError& error) {
        return refuse(error);
    }
    command& asked = chosen();
    try {
        read_settings();
        return &asked == &serve_ ? serving_.only_check ? run_check(serving_) : run_serve(serving_)
               : &asked == &submit_ ? run_submit(submitting_)
               : &asked == &status_ ? run_status(asking_)
               : &asked == &watch_  ? run_watch(watching_)
                                    : run_ps(pid_);
    } catch (const invalid_argument& error) {
        return refuse(error.what(), asked.parser);
    }
}

}  // namespace

}  // namespace weir::program

int main(int count, char** words) {
    try {
        return weir::program::program().run(count, words);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "weir: %s\n", weir::program::shown(error.what()).c_str());
        return 1;
    }
}
