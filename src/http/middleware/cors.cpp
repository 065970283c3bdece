// SPDX-License-Identifier: MIT
// The rules are stored as the texts of the headers.

#include <weir/error.hpp>
#include <weir/http/answered.hpp>
#include <weir/http/cors.hpp>

#include <algorithm>

namespace weir::http {

namespace {

constexpr std::string_view default_methods = "GET, HEAD, POST, PUT, PATCH, DELETE";

// scheme://host[:port], as browsers write origins: no path, no upper case.
bool is_origin(std::string_view text) noexcept {
    const std::size_t scheme = text.find("://");
    if (scheme == std::string_view::npos || scheme == 0 || scheme + 3 == text.size()) {
        return false;
    }
    const std::string_view host = text.substr(scheme + 3);
    return std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(scheme),
                       [](char each) {
                           return (each >= 'a' && each <= 'z') || (each >= '0' && each <= '9') ||
                                  each == '+' || each == '-' || each == '.';
                       }) &&
           std::all_of(host.begin(), host.end(), [](char each) {
               return (each >= 'a' && each <= 'z') || (each >= '0' && each <= '9') ||
                      std::string_view("-._~:[]%").find(each) != std::string_view::npos;
           });
}

void append(std::string& list, std::string_view name, std::string_view kind) {
    if (!is_token(name) || name == "*") {
        throw invalid_argument("cors: '" + std::string(name) + "' is not the name of a " +
                               std::string(kind));
    }
    list += list.empty() ? "" : ", ";
    list += name;
}

// Names, with commas between them.
bool is_list_of_names(std::string_view text) noexcept {
    return text.size() <= 4096 && std::all_of(text.begin(), text.end(), [](char each) {
               return is_token(std::string_view(&each, 1)) || each == ',' || each == ' ';
           });
}

}  // namespace

cors& cors::allow_origin(std::string_view origin) {
    if (!is_origin(origin)) {
        throw invalid_argument("cors: '" + std::string(origin) +
                               "' is not an origin such as 'https://example.com' or "
                               "'http://localhost:3000', in lower case and without a path");
    }
    origins_.emplace_back(origin);
    return *this;
}

cors& cors::allow_any_origin() {
    if (has_credentials_) {
        throw invalid_argument(
            "cors: any origin together with credentials would open the data of users to every "
            "page");
    }
    is_any_origin_ = true;
    return *this;
}

cors& cors::allow_origins_if(weir::detail::unique_function<bool(std::string_view)> rule) {
    if (!rule) {
        throw invalid_argument("cors: the rule for origins is empty");
    }
    rule_ =
        std::make_shared<weir::detail::unique_function<bool(std::string_view)>>(std::move(rule));
    return *this;
}

cors& cors::allow_credentials() {
    if (is_any_origin_) {
        throw invalid_argument(
            "cors: any origin together with credentials would open the data of users to every "
            "page");
    }
    has_credentials_ = true;
    return *this;
}

cors& cors::allow_method(std::string_view name) {
    append(methods_, name, "method");
    return *this;
}

cors& cors::allow_header(std::string_view name) {
    append(headers_, name, "header");
    return *this;
}

cors& cors::allow_any_header() {
    is_any_header_ = true;
    return *this;
}

cors& cors::expose_header(std::string_view name) {
    append(exposed_, name, "header");
    return *this;
}

cors& cors::set_max_age(clock::duration time) {
    if (time < clock::duration::zero()) {
        throw invalid_argument("cors: max_age is " + std::to_string(time.count()) +
                               " ns; it must not be negative");
    }
    max_age_ = std::to_string(std::chrono::floor<std::chrono::seconds>(time).count());
    return *this;
}

bool cors::allows(std::string_view origin) const {
    return !origin.empty() &&
           (is_any_origin_ ||
            std::find(origins_.begin(), origins_.end(), origin) != origins_.end() ||
            (rule_ != nullptr && (*rule_)(origin)));
}

void cors::allow(headers& to, std::string_view origin) const {
    to.set("Access-Control-Allow-Origin", is_any_origin_ ? "*" : origin);
    if (has_credentials_) {
        to.set("Access-Control-Allow-Credentials", "true");
    }
}

response cors::preflight(const request& request) const {
    response answer(status::no_content);
    headers& fields = answer.headers();
    if (!is_any_origin_) {
        add_vary(fields, "Origin");
    }
    add_vary(fields, "Access-Control-Request-Method");
    add_vary(fields, "Access-Control-Request-Headers");
    const std::string_view origin = request.header("Origin");
    if (!allows(origin)) {
        return answer;
    }
    allow(fields, origin);
    fields.set("Access-Control-Allow-Methods", methods_.empty() ? default_methods : methods_);
    const std::string_view wanted = request.header("Access-Control-Request-Headers");
    if (is_any_header_ && !wanted.empty() && is_list_of_names(wanted)) {
        // A '*' would not include Authorization, and means nothing together with credentials.
        fields.set("Access-Control-Allow-Headers", wanted);
    } else if (!headers_.empty()) {
        fields.set("Access-Control-Allow-Headers", headers_);
    }
    if (!max_age_.empty()) {
        fields.set("Access-Control-Max-Age", max_age_);
    }
    return answer;
}

task<response> cors::operator()(request& request, next inner) const {
    if (request.method() == method::options && request.headers().contains("Origin") &&
        request.headers().contains("Access-Control-Request-Method")) {
        co_return preflight(request);
    }
    response answer = co_await answered(inner, request);
    if (!is_any_origin_) {
        add_vary(answer.headers(),
                 "Origin");  // also where there is none: the next one may have one
    }
    const std::string_view origin = request.header("Origin");
    if (allows(origin)) {
        allow(answer.headers(), origin);
        if (!exposed_.empty()) {
            answer.headers().set("Access-Control-Expose-Headers", exposed_);
        }
    }
    co_return answer;
}

}  // namespace weir::http
