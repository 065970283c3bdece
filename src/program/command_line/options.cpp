// SPDX-License-Identifier: MIT
// CLI11 collects the words of each option as text; read() chooses the source and parses.

#include "program/command_line/options.hpp"

#include "program/output/text.hpp"
#include <CLI/CLI.hpp>

#include <weir/error.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace weir::program {

namespace {

constexpr char list_mark = '\x1f';  // see marked_word()

// 'listen' for '-l,--listen' and for 'listen'.
std::string long_name(const std::string& names) {
    const std::size_t dashes = names.find("--");
    return dashes == std::string::npos ? names : names.substr(dashes + 2);
}

std::string variable_for(std::string variable, const std::string& name) {
    for (const char letter : name) {
        variable += letter == '-'                    ? '_'
                    : letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A')
                                                     : letter;
    }
    return variable;
}

std::vector<std::string> split(const std::string& text, char at) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    while (begin <= text.size()) {
        const std::size_t end = std::min(text.find(at, begin), text.size());
        const std::size_t first = text.find_first_not_of(' ', begin);
        if (first < end) {
            const std::size_t last = text.find_last_not_of(' ', end - 1);
            parts.push_back(text.substr(first, last + 1 - first));
        }
        begin = end + 1;
    }
    return parts;
}

std::string joined(const std::vector<std::string>& parts, const char* between) {
    std::string all;
    for (const std::string& each : parts) {
        all += (all.empty() ? "" : between) + each;
    }
    return all;
}

std::string without_zeros(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%.15g", number);
    return text;
}

}  // namespace

std::string unknown(std::string_view what, std::string_view typed,
                    const std::vector<std::string>& names) {
    std::string message = "there is no " + std::string(what) + " '" + shown(typed, 60) + "'";
    if (const std::string_view suggestion = nearest(typed, names); !suggestion.empty()) {
        return message + "; did you mean '" + std::string(suggestion) + "'?";
    }
    return message + "; there are: " + joined(names, ", ");
}

double read_number(const std::string& text, double least, double most, bool is_whole) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || !(number >= least) ||
        !(number <= most) || (is_whole && number != std::floor(number))) {
        throw invalid_argument("it must be a " + std::string(is_whole ? "whole " : "") +
                               "number from " + without_zeros(least) + " to " +
                               without_zeros(most));
    }
    return number;
}

options::options(CLI::App& command, bool has_variables)
    : command_(command), has_variables_(has_variables) {}

std::string marked_word(std::string word) {
    if (word.starts_with('[') && word.ends_with(']')) {
        word += list_mark;
    }
    return word;
}

options::known& options::add(option_text text, parser parse) {
    known& added = all_.emplace_back();
    added.text = std::move(text);
    added.name = long_name(added.text.names);
    added.parse = std::move(parse);
    std::string description = added.text.description;
    if (has_variables_ && added.text.names.starts_with("-")) {
        added.variable = variable_for(variable_prefix_, added.name);
        description += " [" + added.variable + "]";
    }
    added.option = command_.add_option(added.text.names, added.values, description);
    // One word per flag; otherwise CLI11 takes the words that follow and splits lists in brackets.
    added.option->type_name(added.text.placeholder)->expected(1)->allow_extra_args(false);
    if (added.text.is_list && !added.text.names.starts_with("-")) {
        added.option->expected(1, CLI::detail::expected_max_vector_size)->allow_extra_args(true);
    }
    if (added.text.is_list) {
        added.option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    }
    if (!added.text.preset.empty()) {
        added.option->default_str(added.text.preset);
    }
    added.option->required(added.text.is_required);
    return added;
}

void options::value(option_text text, parser parse) {
    add(std::move(text), std::move(parse));
}

void options::text(option_text text, std::string& into) {
    if (text.preset.empty()) {
        text.preset = into;
    }
    add(std::move(text), [&into](const std::string& value) { into = value; });
}

void options::texts(option_text text, std::vector<std::string>& into) {
    text.is_list = true;
    add(std::move(text), [&into](const std::string& value) { into.push_back(value); });
}

void options::optional_texts(option_text text, std::vector<std::string>& into) {
    text.is_list = true;
    known& added = add(std::move(text), [&into](const std::string& value) {
        into.push_back(value.empty() ? "true" : value);
    });
    added.option->expected(0, 1)->default_str("");
}

void options::choice(option_text text, std::string& into, std::initializer_list<const char*> all) {
    const std::vector<std::string> names(all.begin(), all.end());
    text.placeholder = joined(names, "|");
    text.preset = into;
    add(std::move(text), [&into, names](const std::string& value) {
        if (std::find(names.begin(), names.end(), value) == names.end()) {
            throw invalid_argument("it must be one of: " + joined(names, ", "));
        }
        into = value;
    });
}

void options::flag(option_text text, bool& into) {
    known& added = all_.emplace_back();
    added.text = std::move(text);
    added.name = long_name(added.text.names);
    added.is_flag = true;
    added.parse = [&into](const std::string& value) {
        if (value != "true" && value != "false") {
            throw invalid_argument("it must be true or false");
        }
        into = value == "true";
    };
    std::string description = added.text.description;
    if (has_variables_) {
        added.variable = variable_for(variable_prefix_, added.name);
        description += " [" + added.variable + "]";
    }
    added.option = command_.add_flag(
        added.text.names,
        [&added](std::int64_t count) { added.values.assign(1, count > 0 ? "true" : "false"); },
        description);
}

void options::only_flag(const std::string& names, const std::string& description, bool& into) {
    command_.add_flag(names, into, description);
}

void options::read(known& each, const std::vector<std::string>& values, source from,
                   const std::string& place) {
    for (const std::string& value : values) {
        try {
            each.parse(value);
        } catch (const invalid_argument& error) {
            const std::string named = from == source::file ? place + ": " + each.name : place;
            throw invalid_argument(named + " is '" + shown(value, 200) + "'; " + error.what());
        }
    }
    found_.push_back({each.name, joined(values, "; "), from, place});
}

void options::read(std::span<const config_entry> file) {
    check_names(file);
    for (known& each : all_) {
        const char* const variable =
            each.variable.empty() ? nullptr : std::getenv(each.variable.c_str());
        const auto entry = std::find_if(file.begin(), file.end(), [&](const config_entry& one) {
            return one.section == section() && one.key == each.name;
        });
        if (!each.values.empty()) {
            for (std::string& value : each.values) {
                if (value.starts_with('[') && value.ends_with(list_mark)) {
                    value.pop_back();
                }
            }
            const bool is_positional = !each.text.names.starts_with("-");
            read(each, each.values, source::flag, (is_positional ? "" : "--") + each.name);
        } else if (variable != nullptr && *variable != '\0') {
            read(each,
                 each.text.is_list ? split(variable, ';') : std::vector<std::string>{variable},
                 source::variable, each.variable);
        } else if (entry != file.end()) {
            if (entry->is_list && !each.text.is_list) {
                throw invalid_argument(entry->place + ": " + each.name +
                                       " is a list; it must be one value");
            }
            read(each, entry->values, source::file, entry->place);
        } else {
            found_.push_back({each.name, each.text.preset, source::none, ""});
        }
    }
}

void options::check_names(std::span<const config_entry> file) const {
    const std::vector<std::string> all = names();
    for (const config_entry& each : file) {
        if (each.section == section() && std::find(all.begin(), all.end(), each.key) == all.end()) {
            throw invalid_argument(each.place + ": " + unknown("option", each.key, all) + " (in [" +
                                   section() + "])");
        }
    }
}

source options::source_of(std::string_view name) const {
    const auto one = std::find_if(found_.begin(), found_.end(),
                                  [&](const found& each) { return each.name == name; });
    return one != found_.end() ? one->from : source::none;
}

std::string options::section() const {
    return command_.get_name();
}

std::vector<std::string> options::names() const {
    std::vector<std::string> all;
    for (const known& each : all_) {
        all.push_back(each.name);
    }
    return all;
}

}  // namespace weir::program
