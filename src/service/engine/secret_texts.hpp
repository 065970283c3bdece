// SPDX-License-Identifier: MIT
// The members of a payload that are never shown: new_task::secret names them, such as 'password'
// or 'card.number'. A path goes into each element of an array.
//
// Handlers get the payload as it is. The API shows '***' in place of these members, and the texts
// of a run (result, error, progress) are stored without their values.
#pragma once

#include <weir/service/task.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::service::detail {

// The payload with '***' for its secret members; all of it is hidden if it cannot be parsed.
std::string shown_payload(const new_task& task);

// Throws invalid_value if there are too many paths, or one is not in the payload: a misspelt one
// would hide nothing.
void check_secret(const new_task& task);

// Removes the values of the secret members from texts: those with at least 4 characters, as they
// are and as JSON and URLs write them.
class secret_texts {
public:
    explicit secret_texts(const new_task& task);

    std::string without(std::string_view text) const;
    // Of JSON; it stays as it was written where nothing is hidden.
    std::string without_in_json(std::string json) const;

private:
    std::vector<std::string> values_;   // longest first
    std::vector<std::string> numbers_;  // as JSON
    bool hides_all_ = false;            // the payload cannot be parsed
};

// The texts of a run of this task, as they may be stored.
std::string hidden_in(const new_task& task, std::string_view text);
std::string hidden_in_json(const new_task& task, std::string json);

}  // namespace weir::service::detail
