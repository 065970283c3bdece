// SPDX-License-Identifier: MIT
// The options of a command. Flags take precedence over environment variables, those over the
// configuration file. CLI11 splits the command line and writes the help; values are parsed here, so
// that an error has the same form whatever the source: place, value, what is expected.
#pragma once

#include "program/command_line/config_file.hpp"

#include <deque>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace weir::program {

enum class source : unsigned char { none, file, variable, flag };

// The name of an option and its line in the help.
struct option_text {
    std::string names;        // '-l,--listen', or 'kind' for a positional argument
    std::string placeholder;  // 'ADDRESS'
    std::string description;
    std::string preset;  // the default, as the help and --check show it
    bool is_list = false;
    bool is_required = false;
};

// CLI11 splits words in brackets, '[a,b]', where a list of words is expected, and has no way to
// switch that off. A word that is marked is not split, and options::read() removes the mark.
std::string marked_word(std::string word);

class options {
public:
    // Parses one value; throws invalid_argument 'it must be ...' if it is invalid.
    using parser = std::function<void(const std::string&)>;

    // has_variables: each option can also be given as WEIR_<NAME>.
    options(CLI::App& command, bool has_variables);
    options(const options&) = delete;
    options& operator=(const options&) = delete;

    void value(option_text text, parser parse);
    void text(option_text text, std::string& into);
    void texts(option_text text, std::vector<std::string>& into);
    // A list of texts, whose flag may stand without a value: that is 'true'.
    void optional_texts(option_text text, std::vector<std::string>& into);
    void choice(option_text text, std::string& into, std::initializer_list<const char*> all);
    template <class Number>
    void number(option_text text, Number& into, double least, double most);
    void flag(option_text text, bool& into);
    // On the command line only.
    void only_flag(const std::string& names, const std::string& means, bool& into);
    // For the options added from now on.
    void set_variables(bool has_variables) { has_variables_ = has_variables; }
    void set_variable_prefix(std::string prefix) { variable_prefix_ = std::move(prefix); }

    // Parses all values. Throws invalid_argument.
    void read(std::span<const config_entry> file);
    // Throws invalid_argument if the file has a name in this section that is not an option.
    void check_names(std::span<const config_entry> file) const;

    struct found {
        std::string name;
        std::string value;  // or the preset
        source from = source::none;
        std::string place;  // '--workers', 'WEIR_WORKERS', 'weir.toml:3'
    };
    const std::vector<found>& all_found() const { return found_; }
    source source_of(std::string_view name) const;
    std::string section() const;
    std::vector<std::string> names() const;

private:
    struct known {
        option_text text;
        std::string name;      // 'listen'
        std::string variable;  // empty: none
        parser parse;
        CLI::Option* option = nullptr;
        std::vector<std::string> values;
        bool is_flag = false;
    };
    known& add(option_text text, parser parse);
    void read(known& each, const std::vector<std::string>& values, source from,
              const std::string& place);

    CLI::App& command_;
    bool has_variables_;
    std::string variable_prefix_ = "WEIR_";
    std::deque<known> all_;  // CLI11 keeps pointers into it
    std::vector<found> found_;
};

// 'there is no option 'wokers'; did you mean 'workers'?', or the list of all.
std::string unknown(std::string_view what, std::string_view typed,
                    const std::vector<std::string>& names);

// Throws invalid_argument 'it must be a number from ... to ...'.
double read_number(const std::string& text, double least, double most, bool is_whole);

namespace detail {

template <class T>
struct plain {
    using type = T;
};
template <class T>
struct plain<std::optional<T>> {
    using type = T;
};

}  // namespace detail

template <class Number>
void options::number(option_text text, Number& into, double least, double most) {
    using plain = typename detail::plain<Number>::type;
    value(std::move(text), [&into, least, most](const std::string& value) {
        into = static_cast<plain>(read_number(value, least, most, std::is_integral_v<plain>));
    });
}

}  // namespace weir::program
