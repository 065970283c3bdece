// SPDX-License-Identifier: MIT
// The task service and its commands. Exit codes are listed in commands.hpp and at the end of
// --help.

#include "program/command_line/commands.hpp"
#include "program/command_line/config_file.hpp"
#include "program/command_line/options.hpp"
#include "program/crawl/crawl_settings.hpp"
#include "program/output/program_name.hpp"
#include "program/output/text.hpp"
#include <CLI/CLI.hpp>

#include <weir/error.hpp>
#include <weir/program/program.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::program {

namespace {

constexpr int usage_error = 2;
constexpr const char* exit_codes =
    "Exit codes: 0 success; 1 failure; 2 usage error; 3 the task did not complete, or links are\n"
    "broken; 4 a limit ended the crawl (--require-complete); 70 a task of the program did not "
    "stop\n"
    "before the deadline; 78 the database needs a newer program; 130, 143 stopped by a signal.";

// One of the program's commands.
struct command {
    command(CLI::App& app, const char* name, const char* description, bool has_variables)
        : parser(*app.add_subcommand(name, description)), known(parser, has_variables) {}
    CLI::App& parser;
    options known;
    std::function<int()> run;
    remote_settings* service = nullptr;  // null: the command talks to none
};

// What other programs call an option of this one.
std::string_view synonym_of(std::string_view option) {
    constexpr std::pair<std::string_view, std::string_view> synonyms[] = {
        {"--host", "--listen"},         {"--bind", "--listen"}, {"--address", "--listen"},
        {"--db", "--database"},         {"--url", "--server"},  {"--threads", "--workers"},
        {"--concurrency", "--workers"},
    };
    for (const auto& [theirs, ours] : synonyms) {
        if (option == theirs) {
            return ours;
        }
    }
    return {};
}

// The message for a word that is not one of the names, with the nearest of them.
std::string unknown_option(const std::string& word, const std::vector<std::string>& names,
                           const CLI::App& parser) {
    const std::string name = word.substr(0, word.find('='));
    if (std::find(names.begin(), names.end(), name) != names.end()) {
        return "the option '" + name + "' belongs after the command: " + program_name() + " " +
               parser.get_name() + " " + word;
    }
    const std::string_view synonym = synonym_of(name);
    const bool has_synonym = std::find(names.begin(), names.end(), synonym) != names.end();
    const std::string_view suggestion = has_synonym ? synonym : nearest(name, names);
    return "there is no option '" + word + "'" +
           (suggestion.empty() ? "" : "; did you mean '" + std::string(suggestion) + "'?");
}

// The first word that is the name of a long option behind one dash, which is read as short options;
// empty if there is none.
std::string with_one_dash(const std::vector<std::string>& words,
                          const std::vector<std::string>& names) {
    for (const std::string& each : words) {
        const std::string name = "-" + each.substr(0, each.find('='));
        if (name.size() > 3 && std::find(names.begin(), names.end(), name) != names.end()) {
            return shown(each, 100);
        }
    }
    return {};
}

class command_line {
public:
    explicit command_line(const definition& program);
    int run(int argc, char** argv);
    // The settings of `serve` from the same words, and from variables and the file as they are now.
    static serve_settings reread(const definition& program, std::vector<std::string> words);

private:
    void parse(std::vector<std::string> words);
    // Prints the message and how to get help; returns the exit code.
    int refuse(const std::string& message, const CLI::App& command) const;
    int refuse(const CLI::ParseError& error) const;
    // The command calls `perform` with the settings.
    template <class Settings>
    command& add(const char* name, const char* description, Settings& settings,
                 int (*perform)(const Settings&), bool has_variables = false);
    void add_commands();
    void add_footers();
    command& selected();
    void read_settings();

    std::vector<std::string> words_;  // as given
    CLI::App app_;
    std::string config_;
    serve_settings serve_settings_;
    crawl_settings crawl_settings_;
    submit_settings submit_settings_;
    work_settings work_settings_;
    status_settings status_settings_;
    watch_settings watch_settings_;
    list_settings list_settings_;
    show_settings show_settings_;
    task_change_settings cancel_settings_;
    task_change_settings retry_settings_;
    task_change_settings delete_settings_;
    edit_settings edit_settings_;
    list_all_settings queues_settings_;
    queue_change_settings pause_settings_;
    queue_change_settings resume_settings_;
    redrive_settings redrive_settings_;
    schedules_settings schedules_settings_;
    keys_settings keys_settings_;
    limit_settings limit_settings_;
    group_settings group_settings_;
    list_all_settings nodes_settings_;
    list_all_settings destinations_settings_;
    enable_settings enable_settings_;
    backup_settings backup_settings_;
    migrate_settings migrate_settings_;
    ps_settings ps_settings_;
    std::deque<command> all_;  // references to its elements stay valid
    command* serve_ = nullptr;
    command* crawl_ = nullptr;
    command* work_ = nullptr;
    command* schedules_ = nullptr;
    command* group_ = nullptr;
    command* backup_ = nullptr;
    command* migrate_ = nullptr;
    command* ps_ = nullptr;
};

int serve_or_check(const serve_settings& settings) {
    return settings.only_check ? run_check(settings) : run_serve(settings);
}

command_line::command_line(const definition& program)
    : app_(program.description.empty() ? "Weir: a durable service for background tasks"
                                       : program.description,
           program_name()) {
    serve_settings_.set_up = program.set_up;
    serve_settings_.reread = [this, program] { return reread(program, words_); };
    app_.set_version_flag(
        "--version",
        program_name() + " " + (program.version.empty() ? WEIR_VERSION : program.version));
    app_.require_subcommand(1);
    app_.get_formatter()->column_width(38);
    add_commands();
    add_footers();

    // --config is accepted before and after the command.
    const char* const description =
        "Configuration file: option = value, in sections such as '[serve]' [WEIR_CONFIG]";
    app_.add_option("-c,--config", config_, description)->type_name("FILE");
    for (command& each : all_) {
        if (&each != ps_) {
            each.parser.add_option("-c,--config", config_, description)->type_name("FILE");
        }
    }
}

template <class Settings>
command& command_line::add(const char* name, const char* description, Settings& settings,
                           int (*perform)(const Settings&), bool has_variables) {
    command& added = all_.emplace_back(app_, name, description, has_variables);
    add_options(added.known, settings);
    added.run = [perform, &settings] { return perform(settings); };
    if constexpr (requires { settings.to.tokens_from; }) {
        added.service = &settings.to;
    }
    return added;
}

void command_line::add_commands() {
    serve_ = &add("serve", "Run the task service", serve_settings_, &serve_or_check, true);
    crawl_ =
        &add("crawl", "Crawl web sites, or check their links", crawl_settings_, &run_crawl, true);
    add("submit", "Submit a task to the service", submit_settings_, &run_submit);
    work_ = &add("work", "Run a program for each task of a kind", work_settings_, &run_work);
    add("status", "Show queues, or one task", status_settings_, &run_status);
    add("watch", "Show tasks live, as they change", watch_settings_, &run_watch);
    add("list", "List tasks, the newest first", list_settings_, &run_list);
    add("show", "Show all of a task, and why it waits", show_settings_, &run_show);
    add("cancel", "Cancel tasks", cancel_settings_, &run_cancel);
    add("retry", "Run tasks again, or now", retry_settings_, &run_retry);
    add("delete", "Remove tasks that have ended", delete_settings_, &run_delete);
    add("change", "Change a pending task: priority, time, payload", edit_settings_, &run_edit);
    add("queues", "Show counts, limits and pauses of queues", queues_settings_, &run_queues);
    add("keys", "Show the flow keys of a queue", keys_settings_, &run_keys);
    add("limit", "Set limits of a queue, or of one of its flow keys", limit_settings_, &run_limit);
    add("pause", "Start no more tasks of queues", pause_settings_, &run_pause);
    add("resume", "Start tasks of queues again", resume_settings_, &run_resume);
    add("redrive", "Run the failed tasks of a queue again", redrive_settings_, &run_redrive);
    schedules_ = &add("schedules", "Show schedules and their next tasks, or change them",
                      schedules_settings_, &run_schedules);
    group_ = &add("group", "Show groups of tasks, or change them", group_settings_, &run_group);
    add("nodes", "Show the processes that run tasks", nodes_settings_, &run_nodes);
    add("destinations", "Show what tasks talk to, and disabled endpoints", destinations_settings_,
        &run_destinations);
    add("enable", "Use endpoints again that were gone", enable_settings_, &run_enable);
    backup_ = &add("backup", "Copy the database of a service, also while it runs", backup_settings_,
                   &run_backup);
    migrate_ = &add("migrate", "Move tasks between a file and PostgreSQL", migrate_settings_,
                    &run_migrate);
    ps_ = &add("ps", "Show the tasks inside a running Weir program", ps_settings_, &run_ps);
}

void command_line::add_footers() {
    app_.footer(
        with_program_name("Start with `weir serve`; it prints its address and a task to try.\n"
                          "`weir COMMAND --help` lists the options of a command.\n\n") +
        exit_codes);
    for (command& each : all_) {
        each.parser.footer(exit_codes);
    }
    crawl_->parser.footer(
        with_program_name(
            "Commands:\n"
            "  weir crawl status STATE             How far the crawl is\n"
            "  weir crawl why URL STATE            What became of a URL\n"
            "  weir crawl export STATE             Its pages, as lines of JSON\n"
            "  weir crawl retry STATE              Failed pages are pending again\n\n"
            "Examples:\n"
            "  weir crawl --check https://example.com/\n"
            "  weir crawl https://example.com/ --state site.crawl --output pages.jsonl\n\n"
            "The first ^C lets pages in flight end; the same command continues.\n\n") +
        exit_codes);
    work_->parser.footer(
        with_program_name(
            "The program gets the payload on standard input; its standard output is the result, "
            "as\n"
            "JSON if it is JSON. Exit code 0 completes the task, 65 fails it for good, 75 and any\n"
            "other are a failed attempt, with the end of standard error as its message. On ^C or\n"
            "SIGTERM running programs have --drain seconds, then their tasks are returned; a "
            "second\n"
            "signal ends all at once.\n\n"
            "Examples:\n"
            "  weir work resize -- ./resize.sh\n"
            "  weir work mail --concurrency 8 --queue outbox -- python3 send.py --fast\n\n") +
        exit_codes);
    schedules_->parser.footer(
        with_program_name(
            "Commands:\n"
            "  weir schedules add NAME CRON KIND [JSON]   Make or replace a schedule\n"
            "  weir schedules run NAME...                 Submit its task now; its slots stay\n"
            "  weir schedules pause NAME...               Skip its slots until it is resumed\n"
            "  weir schedules resume NAME...\n"
            "  weir schedules remove NAME...              Its tasks stay\n\n"
            "Examples:\n"
            "  weir schedules add nightly '0 3 * * *' echo '{\"a\": 1}' --zone Europe/Berlin\n"
            "  weir schedules add often '@every 10s' echo --overlap skip\n\n") +
        exit_codes);
    group_->parser.footer(
        with_program_name(
            "Commands:\n"
            "  weir group create FILE       Create a group with its tasks; - is standard input\n"
            "  weir group show ID           Its counts, and its tasks as a tree\n"
            "  weir group add ID FILE       Add tasks to a group that is not sealed\n"
            "  weir group seal ID           Add no more: it ends with its last task\n"
            "  weir group cancel ID         Cancel all tasks of it that have not ended\n\n"
            "Example:\n"
            "  echo '{\"tasks\": [{\"name\": \"a\", \"kind\": \"echo\"},\n"
            "    {\"kind\": \"echo\", \"after\": [\"a\"]}], \"callback\": {\"kind\": "
            "\"echo\"}}' |\n"
            "    weir group create -\n\n") +
        exit_codes);
    serve_->parser.footer(
        "Flags take precedence over variables, variables over the file. To give several values,\n"
        "repeat the flag, write a;b in the variable or [\"a\", \"b\"] in the file. On ^C or "
        "SIGTERM\n"
        "running tasks have --drain seconds to finish; a second signal ends the service at once,\n"
        "and they run again after the next start.\n\n" +
        std::string(exit_codes));
}

int command_line::refuse(const std::string& message, const CLI::App& command) const {
    const std::string of_command = &command == &app_ ? "" : " " + command.get_name();
    print_error(message + "\nMore: " + program_name() + of_command + " --help");
    return usage_error;
}

int command_line::refuse(const CLI::ParseError& error) const {
    const CLI::App* parser = &app_;
    for (const CLI::App* const each : app_.get_subcommands()) {
        parser = each;
    }
    const std::vector<std::string> unexpected = app_.remaining(true);
    if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && parser == &app_) {
        std::vector<std::string> names;
        for (const command& each : all_) {
            names.push_back(each.parser.get_name());
        }
        if (unexpected.empty()) {
            std::fputs(app_.help().c_str(), stderr);
            return usage_error;
        }
        return refuse(unknown("command", unexpected.front(), names), app_);
    }
    std::vector<std::string> names;
    for (const CLI::Option* const each : parser->get_options()) {
        for (const std::string& name : each->get_lnames()) {
            names.push_back("--" + name);
        }
    }
    if (const std::string word = with_one_dash(words_, names); !word.empty()) {
        return refuse("there is no option '" + word + "'; did you mean '-" + word + "'?", *parser);
    }
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !unexpected.empty()) {
        const auto dashed =
            std::find_if(unexpected.begin(), unexpected.end(),
                         [](const std::string& each) { return each.starts_with("-"); });
        const std::string word =
            shown(dashed != unexpected.end() ? *dashed : unexpected.front(), 100);
        return refuse(dashed == unexpected.end() ? "'" + word + "' is not expected"
                                                 : unknown_option(word, names, *parser),
                      *parser);
    }
    return refuse(shown(error.what()), *parser);
}

command& command_line::selected() {
    return *std::find_if(all_.begin(), all_.end(),
                         [](const command& each) { return each.parser.parsed(); });
}

void command_line::read_settings() {
    if (const char* const path = std::getenv("WEIR_CONFIG"); config_.empty() && path != nullptr) {
        config_ = path;
    }
    std::vector<config_entry> file;
    if (!config_.empty()) {
        file = read_config(config_);
    }
    std::vector<std::string> sections;
    for (const command& each : all_) {
        sections.push_back(each.known.section());
        each.known.check_names(file);
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
    command& chosen = selected();
    options& known = chosen.known;
    known.read(file);
    const source tokens_from = known.source_of("token-file");
    serve_settings_.tokens_from = tokens_from;
    serve_settings_.keys_from = known.source_of("webhook-key-file");
    serve_settings_.found = known.all_found();
    if (chosen.service != nullptr) {
        chosen.service->tokens_from = tokens_from;
    }
    if (&chosen == migrate_) {
        migrate_settings_.server.tokens_from = tokens_from;
        migrate_settings_.names_server = known.source_of("server") != source::none;
        migrate_settings_.names_database = known.source_of("database") != source::none;
    }
    if ((&chosen == backup_ || &chosen == migrate_) &&
        known.source_of("database") == source::none) {
        const auto served = std::find_if(file.begin(), file.end(), [](const config_entry& each) {
            return each.section == "serve" && each.key == "database" && !each.values.empty();
        });
        if (served != file.end()) {
            (&chosen == backup_ ? backup_settings_.database : migrate_settings_.database) =
                served->values.front();
        }
    }
}

serve_settings command_line::reread(const definition& program, std::vector<std::string> words) {
    command_line again(program);
    again.parse(std::move(words));
    again.read_settings();
    return again.serve_settings_;
}

void command_line::parse(std::vector<std::string> words) {
    std::vector<char*> arguments;
    for (std::string& each : words) {
        each = marked_word(std::move(each));
        arguments.push_back(each.data());
    }
    app_.parse(static_cast<int>(arguments.size()), arguments.data());
}

int command_line::run(int argc, char** argv) {
    words_.assign(argv, argv + argc);
    try {
        parse(words_);
    } catch (const CLI::Success& help) {
        return app_.exit(help);
    } catch (const CLI::ParseError& error) {
        return refuse(error);
    }
    command& chosen = selected();
    try {
        read_settings();
        return chosen.run();
    } catch (const invalid_argument& error) {
        return refuse(error.what(), chosen.parser);
    }
}

// The file name of the program.
std::string file_name(int argc, char** argv) {
    const std::string_view path = argc > 0 ? argv[0] : "";
    const std::string_view name = path.substr(path.rfind('/') + 1);
    return name.empty() ? "weir" : shown(name, 100);
}

}  // namespace

int run(int argc, char** argv, const definition& program) {
    try {
        set_program_name(program.name.empty() ? file_name(argc, argv) : program.name);
        return command_line(program).run(argc, argv);
    } catch (const std::exception& error) {
        print_error(shown(error.what()));
        return 1;
    }
}

int run(int argc, char** argv, set_up_function set_up) {
    return run(argc, argv, definition(std::move(set_up)));
}

}  // namespace weir::program
